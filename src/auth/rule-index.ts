import type { Action } from '../api/action.ts'
import { ruleAllows } from './rules.ts'
import type { GrantedRule } from './rules.ts'

/**
 * Rules by the resource that they name, so that a decision looks only at those that can match.
 * Rules for paths are few and looked at one by one.
 */
export class RuleIndex {
  readonly #byResource = new Map<string, GrantedRule[]>()
  readonly #ofPaths: readonly GrantedRule[]

  constructor(rules: readonly GrantedRule[]) {
    this.#ofPaths = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
    for (const rule of rules) {
      for (const resource of new Set(rule.resources)) {
        const named = this.#byResource.get(resource)
        if (named === undefined) this.#byResource.set(resource, [rule])
        else named.push(rule)
      }
    }
  }

  /** Returns the first rule found that allows an action, or null. */
  find(action: Action): GrantedRule | null {
    if (action.kind === 'path') return firstOf(this.#ofPaths, action)
    const { resource, subresource } = action
    const all = this.#first('*', action)
    if (all !== null) return all
    if (subresource === '') return this.#first(resource, action)
    return this.#first(`${resource}/${subresource}`, action) ?? this.#first(`*/${subresource}`, action)
  }

  #first(resource: string, action: Action): GrantedRule | null {
    const rules = this.#byResource.get(resource)
    return rules === undefined ? null : firstOf(rules, action)
  }
}

function firstOf(rules: readonly GrantedRule[], action: Action): GrantedRule | null {
  for (const rule of rules) if (ruleAllows(rule, action)) return rule
  return null
}
