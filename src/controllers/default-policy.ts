import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { ApiErrorReason } from '../api/errors/api-error.ts'
import type { Names } from '../api/metadata/names.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { keyOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { isLostCreate, isLostRace } from './lost-race.ts'
import { policyStep } from './policy-step.ts'
import type { PolicyStep, PolicyStepOptions } from './policy-step.ts'

/** A role or binding that every cluster has. */
export type ExpectedObject = {
  readonly plural: (typeof PLURALS)[number]
  readonly object: AnyObject
}

/** The number of objects that one reconciliation wrote. */
export type PolicyWrites = { readonly [kind in PolicyStep['kind']]: number }

export type DefaultPolicyDependencies = Pick<PolicyStepOptions, 'missingRules'> & {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly store: Pick<ObjectStore, 'view'>
  readonly expected: readonly ExpectedObject[]
  /** Called when all objects grant what is expected. */
  readonly onReconciled: (writes: PolicyWrites) => void
  /** @param name of the object that failed, or a name for all of them */
  readonly onError: (name: string, cause: unknown) => void
}

const everything = 'default roles and bindings'

/**
 * Stores the default roles and bindings, and adds what they lack, each time a member begins to
 * lead: a role that was deleted by mistake is back after a restart of the leader. In between,
 * changes of an operator stay as they are. Writes nothing where nothing is missing.
 *
 * @source upstream `pkg/registry/rbac/rest/storage_rbac.go`: poststarthook/rbac/bootstrap-roles
 */
export function defaultPolicyController(dependencies: DefaultPolicyDependencies): Controller {
  const { clock, onError } = dependencies
  return new Controller({
    ...{ clock, onError },
    reconcile: () => reconcile(dependencies),
    keys: () => [everything],
  })
}

async function reconcile(dependencies: DefaultPolicyDependencies): Promise<Reconciled> {
  const { names, catalog, client, expected, onReconciled } = dependencies
  const group = names.group('rbac.authorization')
  const writes = { create: 0, update: 0, recreate: 0 }
  let isDone = true
  let isCurrent = false
  for (const plural of PLURALS) {
    const definition = catalog.find(group, 'v1', plural)
    // This member does not serve the kind.
    if (definition === null) continue
    // A new leader may not have applied all writes of the previous one: a read waits for that.
    if (!isCurrent) await client.list(definition, null, 1)
    isCurrent = true
    const ofKind = expected.filter((one) => one.plural === plural)
    for (let from = 0; from < ofKind.length; from += WRITES_AT_ONCE) {
      const some = ofKind.slice(from, from + WRITES_AT_ONCE)
      const results = await Promise.all(
        some.map(async (one) => {
          const step = stepOf(dependencies, one)
          return step === null ? null : { step, isWritten: await perform(dependencies, definition, step) }
        }),
      )
      for (const result of results) {
        if (result?.isWritten === true) writes[result.step.kind]++
        else if (result !== null) isDone = false
      }
    }
  }
  if (!isDone) return { kind: 'again' }
  onReconciled(writes)
  return { kind: 'done' }
}

/** Roles come before the bindings that refer to them. */
const PLURALS = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'] as const

/** Maximum number of concurrent writes. A new cluster is ready only after all writes. */
const WRITES_AT_ONCE = 32

function stepOf(
  { names, store, missingRules }: DefaultPolicyDependencies,
  { plural, object }: ExpectedObject,
): PolicyStep | null {
  const { namespace = '', name = '' } = object.metadata
  const key = keyOf({ group: names.group('rbac.authorization'), plural, namespace, name })
  const stored = store.view().get(key)
  const { autoupdateAnnotation } = names.rbac
  return policyStep(stored === null ? null : parseStored(stored), object, {
    autoupdateAnnotation,
    missingRules,
  })
}

/**
 * Errors of a single write: another write came first, or this object cannot be written now. Other
 * writes may succeed.
 */
const REFUSALS: ReadonlySet<ApiErrorReason> = new Set([
  'AlreadyExists',
  'Conflict',
  'Forbidden',
  'Invalid',
  'NotFound',
])

/** @returns false: refused, to be tried again */
async function perform(
  { client, onError }: DefaultPolicyDependencies,
  definition: ResourceDefinition,
  step: PolicyStep,
): Promise<boolean> {
  try {
    await write(client, definition, step)
    return true
  } catch (cause) {
    if (!(cause instanceof ApiError) || !REFUSALS.has(cause.code)) throw cause
    const isRace = step.kind === 'update' ? isLostRace(cause) : isLostCreate(cause)
    if (!isRace) onError(step.object.metadata.name ?? '', cause)
    return false
  }
}

async function write(client: LocalClient, definition: ResourceDefinition, step: PolicyStep): Promise<void> {
  const { namespace = null, name = '' } = step.object.metadata
  const target = { namespace, name, subresource: null }
  switch (step.kind) {
    case 'update':
      await client.update(definition, target, step.object)
      return
    case 'recreate':
      await client.delete(definition, target, step.previous)
      await client.create(definition, namespace, step.object)
      return
    case 'create':
      await client.create(definition, namespace, step.object)
  }
}
