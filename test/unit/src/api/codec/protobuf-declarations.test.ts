// Goal: each kind is declared with the members, numbers and types that clients built for release
// 1.24 have. Method: all declarations are compared with the table of messages, both ways, struct by
// struct.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertNever } from '../../../../../base/assert.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import { messageSubjects } from '../../../../facts/message-subjects.ts'
import { messageOf, readMessageTable } from '../../../../facts/message-table.ts'
import type { BasicType, MemberType, MessageMember } from '../../../../facts/message-table.ts'

const table = readMessageTable()

for (const domain of ['orch.io', 'k8s.io'] as const) {
  for (const { name, schema } of messageSubjects(table, domain)) {
    void test(`${name} of ${domain} is declared as in upstream's table`, () => {
      const walk: Walk = { wrong: [], done: new Map() }
      const own = Object.keys(schema.properties).filter((member) => !['apiVersion', 'kind'].includes(member))
      compareStruct(schema, { name, own }, name, walk)
      assert.deepEqual(walk.wrong, [])
    })
  }
}

void test('the comparison detects a wrong number, type and flag, and a missing or extra member', () => {
  const walk: Walk = { wrong: [], done: new Map() }
  const schema: ObjectSchema = {
    type: 'object',
    properties: {
      fieldPath: { type: 'integer', format: 'int32' },
      apiVersion: { type: 'string', zeroMatters: true },
      more: { type: 'string' },
      unnumbered: { type: 'string' },
    },
    protobuf: { fieldPath: 2, apiVersion: 2, more: 9 },
  }
  compareStruct(
    schema,
    { name: 'core/v1.ObjectFieldSelector', own: Object.keys(schema.properties) },
    'x',
    walk,
  )
  compareStruct({ type: 'object', properties: {} }, { name: 'core/v1.ExecAction', own: [] }, 'y', walk)
  assert.deepEqual(walk.wrong, [
    'x.apiVersion has number 2, not 1',
    'x.apiVersion may not be unset: no zeroMatters',
    'x.fieldPath is not written to JSON',
    'x.fieldPath is integer int32, not string',
    'x.more is not in core/v1.ObjectFieldSelector',
    'x.unnumbered is not in core/v1.ObjectFieldSelector',
    'y.command is missing',
  ])
})

type Walk = { readonly wrong: string[]; readonly done: Map<ObjectSchema, string> }
type Struct = { readonly name: string; readonly own: readonly string[] }

function compareStruct(schema: ObjectSchema, { name, own }: Struct, path: string, walk: Walk): void {
  if (walk.done.get(schema) === name) return
  walk.done.set(schema, name)
  const message = messageOf(table, name)
  assert.ok(message.kind === 'message')
  const left = new Set(own)
  for (const member of message.members) {
    if (member.name !== null) {
      left.delete(member.name)
      compareMember(schema, member, `${path}.${member.name}`, walk)
      continue
    }
    assert.ok(member.type.kind === 'message')
    const part = schema.inline?.find(({ number }) => number === member.number)
    if (part === undefined) walk.wrong.push(`${path} inlines no ${member.type.name} as ${member.number}`)
    const inner = Object.keys(part?.schema.properties ?? {})
    for (const inlined of inner) left.delete(inlined)
    if (part !== undefined) compareStruct(part.schema, { name: member.type.name, own: inner }, path, walk)
  }
  for (const member of left) walk.wrong.push(`${path}.${member} is not in ${name}`)
}

function compareMember(schema: ObjectSchema, member: MessageMember, path: string, walk: Walk): void {
  const name = member.name ?? ''
  const type = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
  const number = schema.protobuf?.[name]
  if (type === undefined) {
    walk.wrong.push(`${path} is missing`)
    return
  }
  if (number !== member.number) walk.wrong.push(`${path} has number ${number}, not ${member.number}`)
  if ((type.zeroMatters === true) !== member.optional) {
    walk.wrong.push(
      `${path} may ${member.optional ? 'be' : 'not be'} unset: ${member.optional ? '' : 'no '}zeroMatters`,
    )
  }
  const always = type.always === true
  // Required members and members with a default are always written.
  const isWritten = always || type.default !== undefined || schema.required?.includes(name) === true
  if (member.always ? !isWritten : always)
    walk.wrong.push(`${path} is ${always ? 'always' : 'not'} written to JSON`)
  compareType(type, member.type, path, walk)
}

function compareType(schema: Schema, type: MemberType, path: string, walk: Walk): void {
  if (type.kind === 'message') {
    const message = messageOf(table, type.name)
    if (message.kind === 'alias') {
      if (schema.type === 'list' && schema.inMessage !== true)
        walk.wrong.push(`${path} is no list in a message`)
      compareType(schema.type === 'list' ? { ...schema, inMessage: true } : schema, message.of, path, walk)
    } else if (schema.type === 'object') {
      compareStruct(schema, { name: type.name, own: Object.keys(schema.properties) }, path, walk)
    } else {
      walk.wrong.push(`${path} is ${spell(schema)}, not ${type.name}`)
    }
  } else if (type.kind === 'list') {
    if (schema.type === 'list') compareType(schema.items, type.of, `${path}[]`, walk)
    else walk.wrong.push(`${path} is ${spell(schema)}, not a list`)
  } else if (type.kind === 'map') {
    if (schema.type === 'map') compareType(schema.values, type.of, `${path}{}`, walk)
    else walk.wrong.push(`${path} is ${spell(schema)}, not a map`)
  } else if (spell(schema) !== spelling[type.kind]) {
    walk.wrong.push(`${path} is ${spell(schema)}, not ${spelling[type.kind]}`)
  }
}

const spelling: { readonly [type in BasicType]: string } = {
  string: 'string',
  bytes: 'string bytes',
  bool: 'boolean',
  int32: 'integer int32',
  int64: 'integer int64',
  float64: 'number',
  Time: 'string date-time',
  MicroTime: 'string micro-time',
  Quantity: 'quantity',
  IntOrString: 'int-or-string',
  RawExtension: 'any',
}

function spell(schema: Schema): string {
  switch (schema.type) {
    case 'string':
    case 'integer':
      return schema.format === undefined ? schema.type : `${schema.type} ${schema.format}`
    case 'boolean':
    case 'number':
    case 'object':
    case 'map':
    case 'list':
    case 'quantity':
    case 'int-or-string':
    case 'any':
      return schema.type
    default:
      return assertNever(schema)
  }
}
