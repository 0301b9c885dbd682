import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The messages of the API by name (`core/v1.Pod`), as `protobuf-types.txt` lists them. It does not
 * depend on the declarations of the server.
 */
export type MessageTable = ReadonlyMap<string, MessageType>

export type MessageType =
  | { readonly kind: 'message'; readonly members: readonly MessageMember[] }
  /** A list that is a message of its own, or another name. */
  | { readonly kind: 'alias'; readonly of: MemberType }

export type MessageMember = {
  /** In JSON; null: the members of its type are inlined in the message. */
  readonly name: string | null
  readonly number: number
  readonly type: MemberType
  /** Unset differs from zero. */
  readonly optional: boolean
  /** JSON has the field even when its value is zero or unset. */
  readonly always: boolean
}

export type MemberType =
  | { readonly kind: 'list' | 'map'; readonly of: MemberType }
  | { readonly kind: 'message'; readonly name: string }
  | { readonly kind: BasicType }

export type BasicType = (typeof basicTypes)[number]

const basicTypes = [
  'string',
  'bytes',
  'bool',
  'int32',
  'int64',
  'float64',
  'Time',
  'MicroTime',
  'Quantity',
  'IntOrString',
  'RawExtension',
] as const

const file = normalize(fileURLToPath(new URL('../../../test/facts/protobuf-types.txt', import.meta.url)))

export function readMessageTable(): MessageTable {
  const table = new Map<string, MessageType>()
  let group = ''
  const [, ...blocks] = readFileSync(file, 'utf8').trimEnd().split('\n\n')
  for (const line of blocks.flatMap((block) => block.split('\n'))) {
    const match = /^(\w+)(:| = )(.*)$/.exec(line)
    if (match === null) group = line
    else table.set(`${group}.${match[1] ?? ''}`, parseMessage(group, match[2] === ':', match[3] ?? ''))
  }
  return table
}

function parseMessage(group: string, isMessage: boolean, text: string): MessageType {
  if (!isMessage) return { kind: 'alias', of: parseType(group, text) }
  const members = text.split(';').map((part) => {
    const match = /^([\w-]+) (\d+) ([^?!]+)(\??)(!?)$/.exec(part.trim())
    assert.ok(match, `${group}: ${part}`)
    const [, name = '', number = '', type = '', mark = '', given = ''] = match
    const isInline = name === '-'
    return {
      ...{ name: isInline ? null : name, number: Number(number), type: parseType(group, type) },
      optional: mark === '?',
      always: given === '!',
    }
  })
  return { kind: 'message', members }
}

function parseType(group: string, text: string): MemberType {
  for (const [prefix, kind] of [
    ['[]', 'list'],
    ['map[string]', 'map'],
  ] as const) {
    if (text.startsWith(prefix)) return { kind, of: parseType(group, text.slice(prefix.length)) }
  }
  const basic = basicTypes.find((name) => name === text)
  if (basic !== undefined) return { kind: basic }
  return { kind: 'message', name: text.includes('/') ? text : `${group}.${text}` }
}

/** @throws when it is missing */
export function messageOf(table: MessageTable, name: string): MessageType {
  return table.get(name) ?? assert.fail(`the table has no ${name}`)
}
