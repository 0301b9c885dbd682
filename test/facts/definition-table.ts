import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memberOf, objectMember, objectsMember, textMember, textsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'

/**
 * The OpenAPI definition of a shape in the form of `openapi-definitions.txt`: its marks, and a line
 * for each member. A comparison of texts shows the differences.
 */
export type DefinitionLines = { readonly marks: string; readonly members: ReadonlyMap<string, string> }

const file = normalize(fileURLToPath(new URL('../../../test/facts/openapi-definitions.txt', import.meta.url)))

/** Returns the table by neutral name: `core.v1.Pod`. */
export function readDefinitionTable(): ReadonlyMap<string, DefinitionLines> {
  const table = new Map<string, DefinitionLines>()
  const [, ...blocks] = readFileSync(file, 'utf8').trimEnd().split('\n\n')
  for (const block of blocks) {
    const [group = '', ...lines] = block.split('\n')
    for (const line of lines) {
      const match = /^(\w+)(?: \((.*?)\))?: ?(.*)$/.exec(line)
      assert.ok(match, line)
      const [, name = '', marks = '', members = ''] = match
      table.set(`${group}.${name}`, { marks, members: membersOf(group, members) })
    }
  }
  return table
}

function membersOf(group: string, text: string): ReadonlyMap<string, string> {
  const members = text === '' ? [] : text.split('; ')
  return new Map(
    members.map((member) => {
      const [name = '', type = '', ...marks] = member.split(' ')
      const [, braces = '', of = ''] = /^((?:\[\]|\{\})*)(.*)$/.exec(type) ?? []
      // Definition names are of the same group unless they name another.
      const whole = /^[A-Z]\w*$/.test(of) ? `${group}.${of}` : of
      return [name, [braces + whole, ...marks].join(' ')]
    }),
  )
}

export type Marking = {
  /** Prefix of the extensions, such as `x-kubernetes-`. */
  readonly prefix: string
  /** The neutral name of a reference. */
  readonly neutral: (reference: string) => string
}

/** Returns these lines for a definition of an OpenAPI document of either version. */
export function linesOf(definition: JsonObject, marking: Marking): DefinitionLines {
  const required = textsMember(definition, 'required')
  const properties = Object.entries(objectMember(definition, 'properties'))
  const members = properties.map(([name, value]): readonly [string, string] => {
    const property = value as JsonObject
    const words = [typeOf(property, marking), ...(required.includes(name) ? ['required'] : [])]
    return [name, [...words, ...marksOf(property, marking)].join(' ')]
  })
  const unions = objectsMember(definition, `${marking.prefix}unions`).map(unionText)
  const marks = [...marksOf(definition, marking), ...unions].join(' ')
  return { marks, members: new Map(members) }
}

function typeOf(property: JsonObject, marking: Marking): string {
  const reference = textMember(objectsMember(property, 'allOf')[0] ?? property, '$ref')
  if (reference !== '') return marking.neutral(reference)
  const values = memberOf(property, 'additionalProperties')
  if (values !== undefined) return `{}${typeOf(values as JsonObject, marking)}`
  const type = textMember(property, 'type')
  if (type === 'array') return `[]${typeOf(objectMember(property, 'items'), marking)}`
  return textMember(property, 'format') || type
}

function marksOf(of: JsonObject, { prefix }: Marking): readonly string[] {
  const given = (name: string): string => textMember(of, prefix + name)
  const keys = textsMember(of, `${prefix}list-map-keys`)
  const values = [...textsMember(of, 'enum'), ...textsMember(objectMember(of, 'items'), 'enum')]
  const fallback = memberOf(of, 'default')
  const marks = [
    ['key', given('patch-merge-key')],
    ['patch', given('patch-strategy')],
    ['list', keys.length === 0 ? given('list-type') : `${given('list-type')}(${keys.join(',')})`],
    ['map', given('map-type')],
    ['default', fallback === undefined ? '' : JSON.stringify(fallback)],
    ['enum', values.toSorted().join('|')],
  ] as const
  return marks.flatMap(([name, value]) => (value === '' ? [] : [`${name}=${value}`]))
}

function unionText(union: JsonObject): string {
  const members = objectMember(union, 'fields-to-discriminateBy')
  const fields = Object.keys(members).map((name) => `${name}:${textMember(members, name)}`)
  return `union=${textMember(union, 'discriminator')}/${fields.join(',')}`
}
