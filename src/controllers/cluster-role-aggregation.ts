import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { objectMember, objectsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import { selectorOfObject } from '../api/selectors/label-selector.ts'
import type { LabelSelector } from '../api/selectors/label-selector.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { rulesIn } from '../registry/kinds/policy-rules.ts'
import type { PolicyRule } from '../registry/kinds/policy-rules.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { listedNames, subjectOf } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import type { Problem } from './lasting-problems.ts'
import { LabelledRoles } from './labelled-roles.ts'

export type ClusterRoleAggregationDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All ClusterRoles, as this member has applied them. */
  readonly clusterRoles: Informer<AnyObject>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (name: string, cause: unknown) => void
}

/** The rules of a new role, and of a new cluster, arrive in several steps, which get no events. */
const newMs = 60_000

/**
 * Keeps the rules of each ClusterRole with an `aggregationRule` equal to those of the roles that it
 * selects. An aggregated role may select others, so a change can take several steps to arrive.
 *
 * @source upstream `pkg/controller/clusterroleaggregation`
 */
export function clusterRoleAggregation(dependencies: ClusterRoleAggregationDependencies): Controller {
  const { clock, clusterRoles, onError } = dependencies
  const roles = new LabelledRoles()
  const problems = new LastingProblems(dependencies)
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: problems.watched(
      async (name) => {
        if (!clusterRoles.lacksObjectsIn(null)) return reconcile(dependencies, roles, name)
        // A role that cannot be decrypted may be selected: its rules would be removed.
        const words = 'ClusterRoles that it may select cannot be decrypted'
        await problems.found(name, blocked(dependencies, roles.get(name), words))
        return { kind: 'again' }
      },
      (name, words) => blocked(dependencies, roles.get(name), words),
    ),
    keys: () => roles.aggregating(),
  })
  clusterRoles.subscribe((change) => {
    const { previous } = change
    const current = change.kind === 'set' ? change.value : null
    const name = nameOf(change.kind === 'set' ? change.value : change.previous)
    if (current === null) roles.delete(name)
    else roles.set(name, current, selectorsOf(current))
    if (roles.selectorsOf(name).length > 0) controller.enqueue(name)
    const versions = [current, previous].filter((role) => role !== null)
    for (const other of new Set(versions.flatMap((role) => [...roles.mayConcern(role)]))) {
      const selectors = roles.selectorsOf(other)
      if (versions.some((role) => selectors.some((one) => selects(one, role)))) controller.enqueue(other)
    }
  })
  return controller
}

function blocked(
  { names, catalog }: ClusterRoleAggregationDependencies,
  role: AnyObject | null,
  words: string,
): Problem {
  const definition = catalog.find(names.group('rbac.authorization'), 'v1', 'clusterroles')
  return {
    about: () => (definition === null || role === null ? [] : [subjectOf(definition, role)]),
    reason: 'AggregationFailed',
    message: `The role keeps its rules: ${words}`,
  }
}

function selects(selector: LabelSelector, role: AnyObject): boolean {
  return selector.matches(role.metadata.labels ?? null)
}

function selectorsOf(role: AnyObject): readonly LabelSelector[] {
  const rule = objectMember(role, 'aggregationRule')
  return objectsMember(rule, 'clusterRoleSelectors').map(selectorOfObject)
}

async function reconcile(
  { clock, names, catalog, client, events }: ClusterRoleAggregationDependencies,
  roles: LabelledRoles,
  name: string,
): Promise<Reconciled> {
  const group = names.group('rbac.authorization')
  const role = roles.get(name)
  const selectors = roles.selectorsOf(name)
  const definition = catalog.find(group, 'v1', 'clusterroles')
  if (role === null || selectors.length === 0 || definition === null) return { kind: 'done' }
  const others = roles.mayBeSelected(selectors).filter((one) => nameOf(one) !== name)
  const rules = aggregatedRules(others, selectors)
  const before = rulesIn(role)
  if (textOf(rules) === textOf(before)) return { kind: 'done' }
  try {
    await client.update(
      definition,
      { namespace: null, name, subresource: null },
      { ...role, rules: rules.map(asObject) },
    )
    if (clock.wallMs() - (parseTimeMs(role.metadata.creationTimestamp ?? '') ?? 0) < newMs)
      return { kind: 'done' }
    const sources = others.filter((other) => selectors.some((selector) => selects(selector, other)))
    const message =
      `The number of rules changed from ${before.length} to ${rules.length}. ` +
      `They are those of the ClusterRoles ${listedNames(sources.map(nameOf).sort()) || '(none)'}`
    events.record(subjectOf(definition, role), { type: 'Normal', reason: 'ClusterRoleAggregated', message })
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    // A newer version of the role is not applied here yet; the retry has it.
    if (cause.code === 'Conflict') return { kind: 'again' }
    if (cause.code !== 'NotFound') throw cause
  }
  return { kind: 'done' }
}

/** Returns the rules of the selected roles, by selector, then by name, each rule once. */
export function aggregatedRules(
  roles: readonly AnyObject[],
  selectors: readonly LabelSelector[],
): readonly PolicyRule[] {
  const sorted = [...roles].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const rules = new Map<string, PolicyRule>()
  for (const selector of selectors) {
    for (const role of sorted) {
      if (!selects(selector, role)) continue
      for (const rule of rulesIn(role)) {
        const text = textOf([rule])
        if (!rules.has(text)) rules.set(text, rule)
      }
    }
  }
  return [...rules.values()]
}

/** Equal for rules with the same lists; an absent list equals an empty one, as `rulesIn` has it. */
function textOf(rules: readonly PolicyRule[]): string {
  return JSON.stringify(rules)
}

/** An empty list is omitted. */
function asObject(rule: PolicyRule): JsonObject {
  return Object.fromEntries(Object.entries(rule).filter(([, list]) => list.length > 0))
}

function nameOf(role: AnyObject): string {
  return role.metadata.name ?? ''
}
