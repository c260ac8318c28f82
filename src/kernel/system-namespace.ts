/** Known to every server of Temporal's without being registered: neither can its name be taken, nor can it be deleted. */
export const systemNamespace = { name: 'temporal-system', id: '32049b68-7872-4094-8e63-d0dd59896a83' } as const;
