import type { ResourceDefinition } from '../../registry/kinds/definition.ts'

/** Parts shared by the review kinds. Reviews can only be created, and are not stored. */
export const reviewBasics = {
  shortNames: [],
  categories: [],
  verbs: ['create'],
  // A review is not found by a name: one that a client sends is ignored.
  validateName: () => [],
  deleteReturnsObject: false,
  subresources: [],
} satisfies Partial<ResourceDefinition>
