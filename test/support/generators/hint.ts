import type { SeededRandom } from '../../../base/random.ts'
import type { Json, JsonObjectDraft } from '../../../src/api/json.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import type { ObjectSchema } from '../../../src/api/schema/schema.ts'

/** The part of the generator of full objects that hints use. */
export type ObjectMaker = {
  readonly names: Names
  readonly random: SeededRandom
  /** Returns a word that this generator has not returned before. */
  word(): string
  struct(schema: ObjectSchema, variant: number): JsonObjectDraft
  /** Returns the first variant of a union that has this member. */
  variantWith(schema: ObjectSchema, member: string): number
}

/** Returns the value of one member; undefined: it is left out. */
export type Hint = (maker: ObjectMaker, variant: number) => Json | undefined

/** Hints by schema and member, such as `apiextensions.v1.CustomResourceDefinitionNames.kind`. */
export type Hints = { readonly [member: string]: Hint }

/** Adjusts members that depend on each other, after all are drawn. */
export type Mend = (draft: JsonObjectDraft, variant: number) => void
