export const searchAttributeTypes = ['Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'] as const;
export type SearchAttributeType = (typeof searchAttributeTypes)[number];

/** The type of that name, in any case. */
export function searchAttributeType(name: string): SearchAttributeType | undefined {
  return searchAttributeTypes.find((type) => type.toLowerCase() === name.toLowerCase());
}
