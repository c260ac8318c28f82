/** What a whole number on the wire, and one in a database, may be. */
export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;
