import { assert } from '../../../base/assert.ts'
import { keyOf, prefixOf } from '../../store/key.ts'
import type { Operation } from '../../store/command.ts'
import { revision as revisionOf } from '../../store/revision.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { AnyObject, OperationSubresource } from '../kinds/definition.ts'
import type { JointChange, JointContext } from '../kinds/joint-change.ts'
import { encode, parseStored } from '../kinds/encode.ts'
import type { ReadSet } from '../shared/read-set.ts'
import { YieldBudget, yieldToEventLoop } from '../shared/yield-budget.ts'
import { withConditions, withExtraOperations } from './plan.ts'
import type { Plan } from './plan.ts'
import type { Draft } from './write-pipeline.ts'

/**
 * Adds the change of another object to the command of a draft: both take effect or neither does,
 * and only if the other object is still at the version that the change is derived from.
 *
 * @param decide throws `ApiError` to refuse
 */
export function withJointChange(
  { clock, limits }: Pick<VerbDependencies, 'clock' | 'limits'>,
  { target, admission }: WriteRequest,
  draft: Draft,
  {
    decide,
    reads,
  }: { readonly decide: NonNullable<OperationSubresource['jointChange']>; readonly reads: ReadSet },
): Draft {
  const { current } = draft
  assert(current !== null, 'the operation is on an existing object')
  const { namespace } = target
  const filter: JointContext['filter'] = async (place, matches) => {
    const turn = new YieldBudget(clock, limits)
    const found: AnyObject[] = []
    for (const stored of reads.listOther(prefixOf({ ...place, namespace }))) {
      if (turn.isSpent) {
        await yieldToEventLoop(clock)
        turn.reset()
      }
      turn.charge(stored.byteLength)
      const object = parseStored(stored)
      if (matches(object)) found.push(object)
    }
    return found
  }
  const add = async (plan: Plan): Promise<Plan> => {
    // The object is being deleted already.
    if (plan.kind === 'answer') return plan
    const change = await decide({ object: current, time: admission.writing.time, filter })
    switch (change.kind) {
      case 'none':
        return plan
      case 'only-this-version': {
        const revision = revisionOf(Number(current.metadata.resourceVersion))
        return withConditions(plan, [{ kind: 'revision-is', revision }])
      }
      case 'put':
        return withExtraOperations(plan, [putOf(change, namespace)])
    }
  }
  return { ...draft, plan: async (object) => add(await draft.plan(object)) }
}

function putOf(
  { group, plural, object }: Extract<JointChange, { readonly kind: 'put' }>,
  namespace: string | null,
): Operation {
  const { name = '', resourceVersion } = object.metadata
  return {
    kind: 'put',
    key: keyOf({ group, plural, namespace: namespace ?? '', name }),
    conditions: [{ kind: 'revision-is', revision: revisionOf(Number(resourceVersion)) }],
    object: encode(object),
  }
}
