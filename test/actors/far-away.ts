/** A deadline that no test reaches, whether its clock counts from 1970 or from its own start. */
export const FAR_AWAY_MS = 1e13;
