import type { BodyKind, ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { Gvk } from './markers.ts'
import type { Parameter } from './parameters.ts'

/** One method of one path, independent of the dialect. */
export type Operation = {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch' | 'head' | 'options'
  readonly id: string
  readonly description: string
  /** The value of `x-…-action`. */
  readonly action: string
  readonly parameters: readonly Parameter[]
  readonly body: 'object' | 'delete-options' | 'patch' | null
  /** `text`: plain text, or a `Status` for an error; `any`: the response of another server. */
  readonly answer: 'object' | 'list' | 'status' | 'text' | 'any'
  readonly codes: readonly (200 | 201 | 202)[]
}

export type PathOfKind = {
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly definition: ResourceDefinition
  /** The kind of the body; unset: the kind itself. */
  readonly body?: BodyKind
  /** The kind of the query parameters of a connection. */
  readonly options?: BodyKind
  readonly operations: readonly Operation[]
}

/** Returns the id of an operation. @param method is placed between the version and the scope */
export type Ids = (verb: string, scope: ResourceDefinition['scope'] | '', method?: string) => string

/** Returns the kind that the operations of a path are marked with. */
export function markedKind({ options, body, definition }: PathOfKind): Gvk {
  return options ?? body ?? definition
}

export function capital(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}
