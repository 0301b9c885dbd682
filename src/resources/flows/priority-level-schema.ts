import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, textMember } from '../../api/json.ts'
import { int32, maybe, part, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { flowStatus } from './flow-conditions.ts'

const checked = { required: true, always: true } as const

const queuingSchema = struct(
  'flowcontrol.v1beta2.QueuingConfiguration',
  'Queues of a priority level.',
  {
    queues: int32(1, 'Number of queues.', { always: true, default: 64 }),
    handSize: int32(2, 'Number of queues that a flow is hashed to.', { always: true, default: 8 }),
    queueLengthLimit: int32(3, 'How many requests may wait in a queue.', { always: true, default: 50 }),
  },
  { check: checkQueues },
)

const responseSchema = struct(
  'flowcontrol.v1beta2.LimitResponse',
  'What happens to requests that cannot run now.',
  {
    type: text(1, 'Queue or Reject.', checked),
    queuing: maybe(2, queuingSchema, 'The queues; for the type Queue only.'),
  },
  { check: checkResponse },
)

const limitedSchema = struct(
  'flowcontrol.v1beta2.LimitedPriorityLevelConfiguration',
  'Limits of a priority level.',
  {
    assuredConcurrencyShares: int32(1, 'Share of the requests that may run at once.', {
      ...{ always: true, default: 30 },
    }),
    limitResponse: part(2, responseSchema, 'What happens to requests that cannot run now.'),
  },
  { check: checkShares },
)

const specSchema = struct(
  'flowcontrol.v1beta2.PriorityLevelConfigurationSpec',
  'Limits of a priority level.',
  {
    type: text(1, 'Limited; Exempt for the level exempt.', checked),
    limited: maybe(2, limitedSchema, 'The limits; for the type Limited only.'),
  },
  { check: checkType },
)

export const priorityLevelSchema = struct(
  'flowcontrol.v1beta2.PriorityLevelConfiguration',
  'A priority level: how many of its requests run at once.',
  {
    spec: part(2, specSchema, 'Limits of the level.'),
    status: part(3, flowStatus('PriorityLevelConfiguration'), 'Observed state.'),
  },
)

/** @source upstream `pkg/apis/flowcontrol/validation`, ValidatePriorityLevelConfigurationSpec */
function checkType(spec: JsonObject, at: Path | null, found: Findings): void {
  const type = textMember(spec, 'type')
  const [field, isSet] = [fieldAt(at, 'limited'), memberOf(spec, 'limited') !== undefined]
  if (type === 'Exempt' && isSet) found.add(fieldForbidden(field, 'must be nil if the type is not Limited'))
  if (type === 'Limited' && !isSet) found.add(required(field, 'must not be empty when type is Limited'))
  const known = ['Exempt', 'Limited']
  if (!known.includes(type)) found.add(notSupported(fieldAt(at, 'type'), type, known))
}

function checkShares(limited: JsonObject, at: Path | null, found: Findings): void {
  checkPositive(limited, 'assuredConcurrencyShares', at, found)
}

/** @source upstream `pkg/apis/flowcontrol/validation`, ValidateLimitResponse */
function checkResponse(response: JsonObject, at: Path | null, found: Findings): void {
  const type = textMember(response, 'type')
  const [field, isSet] = [fieldAt(at, 'queuing'), memberOf(response, 'queuing') !== undefined]
  if (type === 'Reject' && isSet)
    found.add(fieldForbidden(field, 'must be nil if limited.limitResponse.type is not Limited'))
  if (type === 'Queue' && !isSet)
    found.add(required(field, 'must not be empty if limited.limitResponse.type is Limited'))
  const known = ['Queue', 'Reject']
  if (!known.includes(type)) found.add(notSupported(fieldAt(at, 'type'), type, known))
}

const QUEUES_MAX = 10_000_000
/** Bits of the hash that a hand of queues is drawn from. */
const HASH_BITS_MAX = 60

/** @source upstream `pkg/apis/flowcontrol/validation`, ValidatePriorityLevelQueuingConfiguration */
function checkQueues(queuing: JsonObject, at: Path | null, found: Findings): void {
  for (const name of ['queueLengthLimit', 'queues', 'handSize']) checkPositive(queuing, name, at, found)
  const [queues, hand] = [numberMember(queuing, 'queues') ?? 0, numberMember(queuing, 'handSize') ?? 0]
  if (queues > QUEUES_MAX) {
    const words = `must not be greater than ${QUEUES_MAX}`
    found.add(invalid(fieldAt(at, 'queues'), queues, words))
  }
  if (hand <= 0) return
  const refuse = (words: string): void => {
    found.add(invalid(fieldAt(at, 'handSize'), hand, words))
  }
  if (hand > queues) refuse(`should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * hand) > HASH_BITS_MAX) {
    const sizes = `deckSize ${queues} and handSize ${hand}`
    refuse(`required entropy bits of ${sizes} should not be greater than ${HASH_BITS_MAX}`)
  }
}

function checkPositive(value: JsonObject, name: string, at: Path | null, found: Findings): void {
  const amount = numberMember(value, name) ?? 0
  if (amount <= 0) found.add(invalid(fieldAt(at, name), amount, 'must be positive'))
}
