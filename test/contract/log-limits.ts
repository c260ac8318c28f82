/** How many partitions the topic of a contract run needs: the suite takes fresh ones for each test. */
export const partitionsMin = 48;
