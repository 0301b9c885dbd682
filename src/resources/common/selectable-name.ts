import type { SelectableField } from '../../registry/kinds/definition.ts'

/**
 * An alias of `metadata.name` that some kinds have always had.
 *
 * @source upstream `pkg/registry/core/namespace/strategy.go`, NamespaceToSelectableFields
 */
export const selectableName: SelectableField = Object.freeze({
  name: 'name',
  textOf: ({ metadata }) => metadata.name ?? '',
})
