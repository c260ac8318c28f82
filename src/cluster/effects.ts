/** `isAll`: everything that counts is written again behind the cut. */
export type ClusterEffect = { readonly kind: 'carried'; readonly cut: number; readonly isAll: boolean };
