import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { HealthCheck } from '../health/health.ts'
import type { ComponentHealth } from '../registry/kinds/component-health.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { memberPrefix } from '../store/machine/member-objects.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type ComponentHealthDependencies = {
  readonly store: Pick<ObjectStore, 'view'> & {
    readonly storage: Pick<ObjectStore['storage'], 'alarm'>
  }
  readonly names: Pick<Names, 'domain'>
  /** The checks behind `/readyz` of this member. */
  readonly checks: readonly Pick<HealthCheck, 'name' | 'failure'>[]
}

/** Without these, this member does not know the status of the others. */
const contactChecks = ['leader', 'membership', 'caught-up']
/** Without these, this member cannot read and write all objects. */
const storeChecks = ['state', 'state-agreement', 'leader', 'membership', 'log', 'apply-lag']

/**
 * Returns the health of each member that has joined, of the controllers and of the store, as this
 * member knows it: the leader reports the members in their objects, and runs the controllers.
 *
 * @throws StoreError `quarantined`
 */
export function componentHealth(dependencies: ComponentHealthDependencies): readonly ComponentHealth[] {
  const { store, names, checks } = dependencies
  const { objects } = store.view().list(memberPrefix(names.domain), { after: null, limit: null })
  const members = objects.map(parseStored).filter((object) => textMember(statusIn(object), 'id') !== '')
  const lost = firstFailure(checks, contactChecks)
  return [
    { name: 'controllers', ...controllersHealth(members, lost) },
    ...members.map((object) => ({
      name: `member-${object.metadata.name ?? ''}`,
      ...(lost === null ? memberHealth(object) : unknown(lost)),
    })),
    { name: 'store', ...storeHealth(dependencies) },
  ]
}

type Verdict = Omit<ComponentHealth, 'name'>

function memberHealth(object: AnyObject): Verdict {
  const ready = objectsMember(statusIn(object), 'conditions').find(
    (condition) => textMember(condition, 'type') === 'Ready',
  )
  if (ready === undefined) return unknown('the leader has not reported its status yet')
  return textMember(ready, 'status') === 'True' ? healthy : failed(textMember(ready, 'message'))
}

/** @param lost why this member does not know the status of others; null: it does */
function controllersHealth(members: readonly AnyObject[], lost: string | null): Verdict {
  if (lost !== null) return unknown(lost)
  const leader = members.find((object) => statusIn(object)['leader'] === true)
  if (leader === undefined) return unknown('no member has reported yet that it leads')
  const { message, ...verdict } = memberHealth(leader)
  const runner = `the leader ${leader.metadata.name ?? ''} runs them`
  return verdict.status === 'False' ? failed(`${runner}: ${message}`) : { ...verdict, message }
}

function storeHealth({ store, checks }: ComponentHealthDependencies): Verdict {
  const failure = firstFailure(checks, storeChecks)
  if (failure !== null) return failed(failure)
  return store.storage.alarm
    ? failed('the storage quota is used up: only writes that free space are accepted')
    : healthy
}

const healthy: Verdict = Object.freeze({ status: 'True', message: 'ok', error: '' })

function failed(message: string): Verdict {
  return { status: 'False', message, error: '' }
}

function unknown(error: string): Verdict {
  return { status: 'Unknown', message: '', error }
}

function firstFailure(
  checks: ComponentHealthDependencies['checks'],
  names: readonly string[],
): string | null {
  for (const name of names) {
    const failure = checks.find((check) => check.name === name)?.failure() ?? null
    if (failure !== null) return failure
  }
  return null
}

function statusIn(object: AnyObject): JsonObject {
  return objectMember(object, 'status')
}
