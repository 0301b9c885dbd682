/** Returns the names in natural order, n2 before n10, separated by commas. */
export function namesInOrder(members: readonly { readonly name: string }[]): string {
  return members
    .map(({ name }) => name)
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .join(', ')
}
