import type { SelectableField } from '../../registry/kinds/definition.ts'

/**
 * An alias of `metadata.name` that some kinds have always had.
 *
 * @source facts _generic: fieldSelectors
 */
export const selectableName: SelectableField = Object.freeze({
  name: 'name',
  textOf: ({ metadata }) => metadata.name ?? '',
})
