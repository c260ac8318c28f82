/** Temporal counts a longer duration as this one: 250 years. A few of them added to any date stay a safe whole number. */
export const durationMsMax = 250 * 365 * 24 * 60 * 60 * 1000;
