/** The names as people count, n2 before n10, with commas between. */
export function namesInOrder(members: readonly { readonly name: string }[]): string {
  return members
    .map(({ name }) => name)
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .join(', ')
}
