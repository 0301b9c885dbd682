import type { JsonObject } from '../../api/json.ts'

/** Specs of the objects of flow control that the server creates, by name. */
export type FlowSpecs = { readonly [name: string]: JsonObject }

/** Returns subjects that are groups. */
export function groups(...names: readonly string[]): readonly JsonObject[] {
  return names.map((name) => ({ kind: 'Group', group: { name } }))
}

/** Returns subjects that are users. */
export function users(...names: readonly string[]): readonly JsonObject[] {
  return names.map((name) => ({ kind: 'User', user: { name } }))
}

/** Rules that match every request. */
export const everything: JsonObject = {
  resourceRules: [
    {
      ...{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      ...{ clusterScope: true, namespaces: ['*'] },
    },
  ],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}

export type FlowRule = {
  readonly level: string
  readonly precedence: number
  /** Unset: all requests are one flow. */
  readonly by?: 'ByUser' | 'ByNamespace'
  readonly subjects: readonly JsonObject[]
  /** Rules of resources and paths. */
  readonly requests: JsonObject
}

/** Returns the spec of a flow schema with one rule. */
export function flowSpec({ level, precedence, by, subjects, requests }: FlowRule): JsonObject {
  return {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules: [{ subjects, ...requests }],
  }
}
