import { mapKey, member } from '../../schema/path.ts'
import type { Path } from '../../schema/path.ts'
import type { Structural } from '../structural.ts'

/** One step of the path of a rule's field: a property, or a key of a map. */
export type FieldStep = { readonly kind: 'member' | 'key'; readonly name: string }

/**
 * Reads the path of the field that a rule reports, such as `.spec.replicas` or `.spec['a.b']`.
 *
 * @param schema that has the rule
 * @returns null: the path is malformed, leads through a list, or the schema has no such field
 * @source apiextensions `pkg/apiserver/schema/cel/validation.go`, ValidFieldPath
 */
export function readFieldPath(text: string, schema: Structural): readonly FieldStep[] | null {
  const steps: FieldStep[] = []
  let node: Structural | null = schema
  let rest = text
  while (rest !== '') {
    const found: RegExpExecArray | null = STEP.exec(rest)
    if (found === null || node === null) return null
    const name = found[1] ?? unescaped(found[2] ?? '')
    if (name === null) return null
    const step = stepTo(node, name)
    if (step === null) return null
    steps.push({ kind: step.kind, name })
    node = step.node
    rest = rest.slice(found[0].length)
  }
  return steps
}

/** `.name` or `['name']`. */
const STEP = /^(?:\.([^.[\]']+)|\['((?:[^'\\]|\\.)+)'\])/s

type Step = { readonly kind: FieldStep['kind']; readonly node: Structural | null }

function stepTo({ properties, additional }: Structural, name: string): Step | null {
  if (properties.size > 0) {
    const node = properties.get(name)
    return node === undefined ? null : { kind: 'member', node }
  }
  if (additional === null || additional === false) return null
  return { kind: 'key', node: additional === true ? null : additional }
}

const ESCAPED: { readonly [letter: string]: string } = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', "'": "'", '\\': '\\' },
}

/** @returns null: an unknown escape sequence */
function unescaped(text: string): string | null {
  let isKnown = true
  const result = text.replace(/\\(.)/gs, (_, letter: string) => {
    const character = Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined
    if (character === undefined) isKnown = false
    return character ?? ''
  })
  return isKnown ? result : null
}

/** Returns the path below `at`. */
export function pathBelow(at: Path | null, steps: readonly FieldStep[]): Path | null {
  let path = at
  for (const { kind, name } of steps) path = kind === 'key' ? mapKey(path, name) : member(path, name)
  return path
}
