/*
 * A text for each value of an expression, the same for the values of the conformance tests, so that
 * results can be compared and shown.
 */
import { Buffer } from 'node:buffer'
import type { CelValue } from '../../../../../src/api/cel/values/value.ts'
import {
  CelDuration,
  CelFailure,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from '../../../../../src/api/cel/values/value.ts'
import { formatDuration, parseDuration } from '../../../../../src/api/cel/values/duration.ts'
import { formatTimestamp, parseTimestamp } from '../../../../../src/api/cel/values/timestamp.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { isJsonObject, objectMember, objectsMember, textMember } from '../../../../../src/api/json.ts'

export function describeValue(value: CelValue | CelFailure | undefined): string {
  if (value === undefined || value === null) return 'null'
  if (value instanceof CelFailure) return `failure ${value.message}`
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? '-0' : value}`
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof CelUint) return `${value.value}u`
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('base64')}`
  if (value instanceof CelDuration) return `duration ${formatDuration(value)}`
  if (value instanceof CelTimestamp) return `timestamp ${formatTimestamp(value)}`
  if (value instanceof CelTypeValue) return `type ${value.name}`
  if (value instanceof CelOpaque) return value.typeName
  if (value instanceof CelOptional)
    return value.value === undefined ? 'none' : `optional ${describeValue(value.value)}`
  if (value instanceof CelMap) {
    const entries = [...value.keys()].map((key) => `${describeValue(key)}: ${describeValue(value.get(key))}`)
    return `{${entries.sort().join(', ')}}`
  }
  const items: string[] = []
  if (value instanceof CelList)
    for (let at = 0; at < value.size; at++) items.push(describeValue(value.at(at)))
  return `[${items.join(', ')}]`
}

/** Describes a value of the conformance tests, `{"int64Value": "1"}`. */
export function describeExpected(value: JsonObject): string {
  const [kind, json = null] = Object.entries(value)[0] ?? []
  const content = scalarText(json)
  switch (kind) {
    case 'nullValue':
      return 'null'
    case 'boolValue':
      return describeValue(json === true)
    case 'int64Value':
      return describeValue(BigInt(content))
    case 'uint64Value':
      return describeValue(new CelUint(BigInt(content)))
    case 'doubleValue':
      return describeValue(typeof json === 'number' ? json : Number(content))
    case 'stringValue':
      return describeValue(content)
    case 'bytesValue':
      return `bytes ${content}`
    case 'typeValue':
      return `type ${content}`
    case 'listValue': {
      const items = objectsMember(objectMember(value, kind), 'values').map(describeExpected)
      return `[${items.join(', ')}]`
    }
    case 'mapValue': {
      const entries = objectsMember(objectMember(value, kind), 'entries')
      const texts = entries.map(
        (entry) => `${describeMember(entry['key'])}: ${describeMember(entry['value'])}`,
      )
      return `{${texts.sort().join(', ')}}`
    }
    default:
      return describeMessage(objectMember(value, 'objectValue'))
  }
}

/** Returns a text or number of the tests as text; '' for others. */
export function scalarText(json: Json | undefined): string {
  return typeof json === 'string' || typeof json === 'number' ? String(json) : ''
}

function describeMember(value: Json | undefined): string {
  return isJsonObject(value) ? describeExpected(value) : 'null'
}

function describeMessage(message: JsonObject): string {
  const text = textMember(message, 'value')
  const type = textMember(message, '@type')
  if (type.endsWith('Duration')) return describeValue(parseDuration(text))
  return type.endsWith('Timestamp') ? describeValue(parseTimestamp(text)) : `message ${type}`
}
