import { assert } from '../../raft/base/assert.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Every bound in the system: name = thing, unit, extreme. Nothing may grow without a line here. */
export const limits = Object.freeze({
  /** One request body. When full: 413. */
  requestBytesMax: 3 * MiB,
  /** One log entry: a full request, what it is stored with, and its envelope. When full: 413. */
  entryBytesMax: 3 * MiB + 64 * KiB,
  /** Entries in one append message between peers; one entry always fits. */
  appendBytesMax: 1 * MiB,
  /** One message between peers. gRPC's own default would be 4 MiB. */
  messageBytesMax: 8 * MiB,
})

assert(limits.requestBytesMax < limits.entryBytesMax, 'a full request fits one entry')
assert(limits.entryBytesMax <= limits.messageBytesMax, 'an entry fits one message')
assert(limits.appendBytesMax <= limits.messageBytesMax, 'a full append fits one message')
