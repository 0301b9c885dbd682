import { EntryMap } from '../values/entry-map.ts'
import { keyText } from '../values/key-text.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure, CelOptional } from '../values/value.ts'
import type { Step } from './step.ts'

type EntryStep = { readonly key: Step; readonly value: Step; readonly optional: boolean }

/** Cost of upstream's map literals. */
const MAP_COST = 30

/** Plans `{key: value, ?key: optional}`. */
export function mapLiteral(entries: readonly EntryStep[]): Step {
  return (frame) => {
    const map = new Map<string, { key: CelValue; value: CelValue }>()
    for (const entry of entries) {
      const key = entry.key(frame)
      if (key instanceof CelFailure) return key
      const text = keyText(key, frame.evaluation)
      if (text === undefined || typeof key === 'number') return new CelFailure('unsupported key type')
      if (map.has(text)) return new CelFailure('Failed with repeated key')
      const value = entry.value(frame)
      if (value instanceof CelFailure) return value
      if (!entry.optional) map.set(text, { key, value })
      else if (!(value instanceof CelOptional)) return new CelFailure('no such overload')
      else if (value.value !== undefined) map.set(text, { key, value: value.value })
    }
    frame.evaluation.spend(MAP_COST)
    frame.evaluation.step(map.size * 4)
    return new EntryMap(map, frame.evaluation)
  }
}
