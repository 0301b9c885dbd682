import type { BodyKind } from './definition.ts'

/** A path that connects the caller to another server: the agent of a node, a Pod or a Service. */
export type ConnectSubresource = {
  readonly name: string
  readonly verbs: readonly ('get' | 'create' | 'update' | 'patch' | 'delete')[]
  readonly connects: 'log' | 'exec' | 'attach' | 'portforward' | 'proxy'
  /** The kind of its options, which are query parameters; null: it is not admitted. */
  readonly options: BodyKind | null
  readonly body?: undefined
  readonly view?: undefined
}
