/** What the worker of the scenarios knows. */
export * from './structured-workflows.ts';
export * from './talking-workflows.ts';
export * from './workflows.ts';
