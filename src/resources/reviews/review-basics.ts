import type { ResourceDefinition } from '../../registry/kinds/definition.ts'

/** What kinds that ask something have in common: they can only be created, and are not stored. */
export const reviewBasics = {
  shortNames: [],
  categories: [],
  verbs: ['create'],
  // A review has no name.
  validateName: () => [],
  deleteReturnsObject: false,
  subresources: [],
} satisfies Partial<ResourceDefinition>
