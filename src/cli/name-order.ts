type Named = { readonly name: string }

/** Compares names in natural order: n2 before n10. */
export function byName(a: Named, b: Named): number {
  return a.name.localeCompare(b.name, 'en', { numeric: true })
}

/** Returns the names in natural order, separated by commas. */
export function namesInOrder(members: readonly Named[]): string {
  return members
    .toSorted(byName)
    .map(({ name }) => name)
    .join(', ')
}
