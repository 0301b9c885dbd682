import { assertNever } from '../../../base/assert.ts'
import { conditionNumber } from '../condition-number.ts'
import type { Condition, Outcome } from '../command.ts'
import { DatabaseError } from '../store-errors.ts'
import type { Key } from '../key.ts'
import { revision } from '../revision.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'

/** Numbers are part of the stored format: never changed, never reused. */
const outcomeNumber = {
  done: 0,
  refused: 1,
  nothing: 2,
  // Since feature level 2.
  'too-large': 3,
  'over-quota': 4,
} as const satisfies Record<Outcome['kind'], number>

export function writeOutcome(writer: ByteWriter, outcome: Outcome): void {
  writer.u8(outcomeNumber[outcome.kind])
  switch (outcome.kind) {
    case 'done':
      writer.u32(outcome.revisions.length)
      for (const one of outcome.revisions) writer.number(one)
      return
    case 'refused':
      writer.u32(outcome.operation)
      writer.number(outcome.current)
      writeCondition(writer, outcome.condition)
      return
    case 'nothing':
      return
    case 'too-large':
      writer.u32(outcome.operation)
      writer.number(outcome.bytes)
      writer.number(outcome.bytesMax)
      return
    case 'over-quota':
      writer.number(outcome.usedBytes)
      writer.number(outcome.bytesMax)
      return
    default:
      assertNever(outcome)
  }
}

/** @throws DatabaseError `unsupported`, `damaged` */
export function readOutcome(reader: ByteReader): Outcome {
  const number = reader.u8()
  switch (number) {
    case outcomeNumber.done:
      return { kind: 'done', revisions: list(reader, () => revision(reader.number())) }
    case outcomeNumber.refused: {
      const operation = reader.u32()
      const current = revision(reader.number())
      return { kind: 'refused', operation, condition: readCondition(reader), current }
    }
    case outcomeNumber.nothing:
      return { kind: 'nothing' }
    case outcomeNumber['too-large']:
      return {
        kind: 'too-large',
        operation: reader.u32(),
        bytes: reader.number(),
        bytesMax: reader.number(),
      }
    case outcomeNumber['over-quota']:
      return { kind: 'over-quota', usedBytes: reader.number(), bytesMax: reader.number() }
    default:
      throw new DatabaseError('unsupported', `no outcome has the number ${number}`)
  }
}

function writeCondition(writer: ByteWriter, condition: Condition): void {
  writer.u8(conditionNumber[condition.kind])
  switch (condition.kind) {
    case 'absent':
    case 'exists':
      return
    case 'uid-is':
      writer.text(condition.uid)
      return
    case 'revision-is':
      writer.number(condition.revision)
      return
    case 'namespace-active':
      writer.text(condition.namespace)
      return
    case 'prefix-empty':
      writer.u32(condition.prefixes.length)
      for (const prefix of condition.prefixes) writer.text(prefix)
      return
    case 'other-revision-is':
      writer.text(condition.key)
      writer.number(condition.revision)
      return
    default:
      assertNever(condition)
  }
}

function readCondition(reader: ByteReader): Condition {
  const number = reader.u8()
  switch (number) {
    case conditionNumber.absent:
      return { kind: 'absent' }
    case conditionNumber.exists:
      return { kind: 'exists' }
    case conditionNumber['uid-is']:
      return { kind: 'uid-is', uid: reader.text() }
    case conditionNumber['revision-is']:
      return { kind: 'revision-is', revision: revision(reader.number()) }
    case conditionNumber['namespace-active']:
      return { kind: 'namespace-active', namespace: reader.text() }
    case conditionNumber['prefix-empty']:
      return { kind: 'prefix-empty', prefixes: list(reader, () => reader.text()) }
    case conditionNumber['other-revision-is']:
      return { kind: 'other-revision-is', key: reader.text() as Key, revision: revision(reader.number()) }
    default:
      throw new DatabaseError('unsupported', `no condition has the number ${number}`)
  }
}

function list<T>(reader: ByteReader, one: () => T): T[] {
  const items: T[] = []
  for (let left = reader.u32(); left > 0; left--) items.push(one())
  return items
}
