import proto from '@temporalio/proto';

const { IndexedValueType } = proto.temporal.api.enums.v1;

/** Registered before the first scenario, through the operator service. */
export const searchAttributes = {
  SdkKeyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  SdkInt: IndexedValueType.INDEXED_VALUE_TYPE_INT,
  SdkBool: IndexedValueType.INDEXED_VALUE_TYPE_BOOL,
  SdkDouble: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
  SdkDatetime: IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
  SdkKeywords: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
  SdkText: IndexedValueType.INDEXED_VALUE_TYPE_TEXT,
};
