import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid, required } from '../api/errors/field-error.ts'
import { isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Label } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { MembershipChange } from '../registry/shared/membership-changes.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import { memberColumns } from './members/member-columns.ts'
import { memberSchema } from './members/member-schema.ts'

/** Limit on members that have not joined. Each is removed after a day, so more are a mistake. */
const pendingMax = 8

/**
 * A member of the cluster. The state machine derives these objects from the Raft configuration.
 * Creating one announces a member that is still to join. Once it has joined, a deletion, or a
 * change of its role or addresses, is requested as a membership change. It becomes visible once
 * that change has committed.
 */
export function memberDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('cluster'),
    version: 'v1',
    kind: 'Member',
    plural: 'members',
    singular: 'member',
    shortNames: ['mem'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    schema: memberSchema,
    columns: memberColumns,
    validateName: checkDns1123Label,
    deleteReturnsObject: false,
    sinceFeatureLevel: memberObjectsLevel,
    hooks: {
      prepareForCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
      prepareForUpdate: (object, current) => ({ ...object, status: memberOf(current, 'status') ?? {} }),
      validate,
      validateAmong,
      validateUpdate,
      membershipChanges: membershipChangesOf,
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

function validate(object: AnyObject, found: Findings): void {
  const spec = part(object, 'spec')
  for (const name of addresses) {
    const address = textMember(spec, name)
    if (address !== '' && !isHostAndPort(address)) {
      found.add(invalid(`spec.${name}`, address, 'must be host:port such as 10.0.0.1:7443'))
    }
  }
  const replaces = textMember(spec, 'replaces')
  if (replaces !== '' && textMember(spec, 'role') === 'Learner') {
    found.add(fieldForbidden('spec.replaces', 'a permanent learner cannot replace a member'))
  }
}

const addresses = ['peerAddress', 'clientAddress'] as const

/** Validates a new member against all existing ones. */
function validateAmong(object: AnyObject, others: readonly AnyObject[], found: Findings): void {
  const pending = others.filter((other) => !hasJoined(other)).length
  if (pending >= pendingMax) {
    const words = `${pending} members are announced that have not joined: let them join, or delete some of them`
    found.add(fieldForbidden('metadata.name', words))
  }
  const replaces = textMember(part(object, 'spec'), 'replaces')
  const replaced = others.find(({ metadata }) => metadata.name === replaces)
  if (replaces !== '' && (replaced === undefined || !hasJoined(replaced))) {
    found.add(invalid('spec.replaces', replaces, 'must be the name of a member'))
  }
}

function validateUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  if (!hasJoined(current)) return
  const [spec, old] = [part(object, 'spec'), part(current, 'spec')]
  for (const name of addresses) if (textMember(spec, name) === '') found.add(required(`spec.${name}`))
  const replaces = textMember(spec, 'replaces')
  const pinned = textMember(spec, 'role') === 'Learner' && replaces === ''
  if (replaces !== textMember(old, 'replaces') && !pinned) {
    found.add(invalid('spec.replaces', replaces, 'field is immutable'))
  }
}

/** Returns the changes that the desired state requires; none for a member that has not joined. */
function membershipChangesOf(object: AnyObject | null, current: AnyObject): readonly MembershipChange[] {
  if (!hasJoined(current)) return []
  const id = textMember(part(current, 'status'), 'id')
  if (object === null) return [{ kind: 'remove-member', id }]
  const [spec, old] = [part(object, 'spec'), part(current, 'spec')]
  const changes: MembershipChange[] = []
  const changed = (name: string): string | null =>
    textMember(spec, name) === textMember(old, name) ? null : textMember(spec, name)
  const [peerAddress, clientAddress] = [changed('peerAddress'), changed('clientAddress')]
  if (peerAddress !== null || clientAddress !== null) {
    changes.push({ kind: 'move-member', id, peerAddress, clientAddress })
  }
  const role = changed('role')
  if (role !== null) changes.push({ kind: 'set-member-role', id, voter: role === 'Voter' })
  return changes
}

/** Returns whether the member has joined: it is in the Raft configuration. */
function hasJoined(object: AnyObject): boolean {
  return textMember(part(object, 'status'), 'id') !== ''
}

function part(object: AnyObject, name: 'spec' | 'status'): JsonObject {
  const value = memberOf(object, name)
  return isJsonObject(value) ? value : {}
}

function isHostAndPort(text: string): boolean {
  const found = /^(?:\[[0-9a-fA-F:.%]+\]|[^:[\]\s/]+):([0-9]{1,5})$/.exec(text)
  return found !== null && Number(found[1]) >= 1 && Number(found[1]) <= 65_535
}
