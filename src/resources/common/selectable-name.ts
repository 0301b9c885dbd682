import type { SelectableField } from '../../registry/kinds/definition.ts'

/**
 * A second word for `metadata.name` that some kinds have had from the beginning.
 *
 * @source facts _generic: fieldSelectors
 */
export const selectableName: SelectableField = Object.freeze({
  name: 'name',
  textOf: ({ metadata }) => metadata.name ?? '',
})
