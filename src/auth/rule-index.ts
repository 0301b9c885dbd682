import type { Action } from '../api/action.ts'
import { ruleAllows } from './rules.ts'
import type { PolicyRule } from './rules.ts'

/**
 * Rules by the names of objects, or else by the resources, that they list, so that a decision looks
 * only at those that can match. Rules for paths are few and looked at one by one. The size of the
 * index is proportional to that of the rules.
 */
export class RuleIndex {
  readonly #byResource = new Map<string, PolicyRule[]>()
  readonly #byName = new Map<string, PolicyRule[]>()
  readonly #ofPaths: readonly PolicyRule[]

  constructor(rules: readonly PolicyRule[]) {
    this.#ofPaths = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
    for (const rule of rules) {
      const { resources, resourceNames = [] } = rule
      const [index, keys] =
        resourceNames.length > 0 ? [this.#byName, resourceNames] : [this.#byResource, resources]
      for (const key of new Set(keys)) append(index, key, rule)
    }
  }

  /** Returns whether a rule allows an action. */
  allows(action: Action): boolean {
    if (action.kind === 'path') return oneAllows(this.#ofPaths, action)
    const { resource, subresource } = action
    if (this.#someOf('*', action)) return true
    const isListed =
      subresource === ''
        ? this.#someOf(resource, action)
        : this.#someOf(`${resource}/${subresource}`, action) || this.#someOf(`*/${subresource}`, action)
    return isListed || oneAllows(this.#byName.get(action.name) ?? [], action)
  }

  #someOf(resource: string, action: Action): boolean {
    return oneAllows(this.#byResource.get(resource) ?? [], action)
  }
}

function append(index: Map<string, PolicyRule[]>, key: string, rule: PolicyRule): void {
  const known = index.get(key)
  if (known === undefined) index.set(key, [rule])
  else known.push(rule)
}

function oneAllows(rules: readonly PolicyRule[], action: Action): boolean {
  for (const rule of rules) if (ruleAllows(rule, action)) return true
  return false
}
