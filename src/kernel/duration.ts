/** Temporal counts a longer duration as this one: 100 years. A few of them added to any date stay a safe whole number. */
export const durationMsMax = 100 * 365 * 24 * 60 * 60 * 1000;
