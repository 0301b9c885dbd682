import { numberMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'

/**
 * Returns both lists without tolerations that another one includes. Each is compared only with
 * those that may include it, because a Pod may have thousands.
 *
 * @source upstream `pkg/util/tolerations`, MergeTolerations
 */
export function mergedTolerations(
  first: readonly JsonObject[],
  second: readonly JsonObject[],
): readonly JsonObject[] {
  const distinct = new Map<string, JsonObject>()
  for (const one of [...first, ...second]) {
    const text = spelled(one)
    if (!distinct.has(text)) distinct.set(text, one)
  }
  // If two include each other, the later one stays.
  const later = new Widest()
  const last: JsonObject[] = []
  for (const one of [...distinct.values()].reverse()) {
    if (!later.includes(one)) last.push(one)
    later.add(one)
  }
  const earlier = new Widest()
  return last.reverse().filter((one) => {
    const isNew = !earlier.includes(one)
    if (isNew) earlier.add(one)
    return isNew
  })
}

function spelled(one: JsonObject): string {
  const texts = ['key', 'operator', 'value', 'effect'].map((name) => textMember(one, name))
  return JSON.stringify([...texts, numberMember(one, 'tolerationSeconds')])
}

/**
 * Tolerations by the taints that they tolerate. Those of one entry differ only in the seconds: the
 * longest one includes the others.
 */
class Widest {
  readonly #seconds = new Map<string, number>()

  add(one: JsonObject): void {
    const { key, effect, operator, value } = partsOf(one)
    const isAnyKey = key === '' && operator === EXISTS
    const entry = entryOf(isAnyKey ? null : key, effect, operator === EXISTS ? null : [operator, value])
    const seconds = effect === 'NoExecute' ? secondsOf(one) : Infinity
    this.#seconds.set(entry, Math.max(seconds, this.#seconds.get(entry) ?? -Infinity))
  }

  /** Whether one of them tolerates every taint that `narrow` does. */
  includes(narrow: JsonObject): boolean {
    const { key, effect, operator, value } = partsOf(narrow)
    const seconds = secondsOf(narrow)
    for (const ofKey of [key, null]) {
      for (const ofEffect of [effect, '']) {
        for (const match of [[operator, value] as const, null]) {
          const most = this.#seconds.get(entryOf(ofKey, ofEffect, match))
          if (most !== undefined && seconds <= most) return true
        }
      }
    }
    return false
  }
}

const EXISTS = 'Exists'

/** @param key null: every key. @param match operator and value; null: every value */
function entryOf(key: string | null, effect: string, match: readonly [string, string] | null): string {
  return JSON.stringify([key, effect, match])
}

function secondsOf(one: JsonObject): number {
  return numberMember(one, 'tolerationSeconds') ?? Infinity
}

function partsOf(one: JsonObject): Readonly<Record<'key' | 'effect' | 'operator' | 'value', string>> {
  const of = (name: string): string => textMember(one, name)
  return {
    key: of('key'),
    effect: of('effect'),
    operator: of('operator') || 'Equal',
    value: of('value'),
  }
}
