import type { Names } from '../../../src/api/metadata/names.ts'
import { Finding } from '../checkers/finding.ts'
import type { Truth } from '../checkers/truth.ts'
import type { Version } from '../checkers/version.ts'
import { storedDoc } from './stored-objects.ts'
import type { StoredDoc } from './stored-objects.ts'
import { aggregatedRole, itemsDefinition, ownerName, recreatedNamespace } from './workload.ts'

/** The committed history of all objects. */
export type ObjectHistory = Pick<Truth, 'keys' | 'versionsOf' | 'revision'>

/**
 * The steps that an object may go through, as words: `created`, `deleted`, and for an update what
 * it changed. Clients of the simulation only create and delete, so updates are made by controllers,
 * by admission (quotas), and by deletions that have to wait for finalizers.
 */
export type StepRule = {
  readonly what: string
  readonly concerns: (key: string, first: StoredDoc) => boolean
  readonly steps: RegExp
  /** Returns the part of an object that no two of its versions may share; null is ignored. */
  readonly uniquePart?: (doc: StoredDoc) => unknown
}

const decision = 'status\\.acceptedNames\\+status\\.conditions'

/** Returns the rules, of which the first that concerns an object counts. */
export function stepRules(names: Names): readonly StepRule[] {
  const place = (group: string, plural: string): string => `${names.group(group)}/${plural}/`
  const below =
    (group: string, plural: string, is: (first: StoredDoc) => boolean = () => true) =>
    (key: string, first: StoredDoc): boolean =>
      key.startsWith(place(group, plural)) && is(first)
  const named =
    (name: string) =>
    ({ metadata }: StoredDoc): boolean =>
      metadata.name === name
  const isOrphan = ({ metadata }: StoredDoc): boolean => metadata.name.startsWith(`${ownerName('Orphan')}-`)
  const { secretTypes } = names
  return [
    {
      // A client creates one of them again.
      what: 'a namespace is deleted once',
      concerns: below('', 'namespaces'),
      steps: /^created( terminating\+status\.phase( status\.conditions)* deleted( created)?)?$/,
    },
    {
      // A quota that does not count yet is written with each object that it may limit.
      what: 'a quota is created, put in force and deleted once',
      concerns: below('', 'resourcequotas'),
      steps: /^created( nothing)*( status\.hard\+status\.used( status\.used)*)?( deleted)?$/,
    },
    {
      what: 'a claim is created once, and released once',
      concerns: below('', 'persistentvolumeclaims'),
      steps: /^created( terminating deleted)?$/,
    },
    {
      what: 'a volume is released once',
      concerns: below('', 'persistentvolumes'),
      steps: /^created( terminating deleted)?$/,
    },
    {
      what: 'a Secret gets one token',
      concerns: below('', 'secrets', ({ type }) => type === secretTypes.serviceAccountToken),
      steps: /^created (annotations\+)?data( deleted)?$/,
    },
    {
      what: 'cluster-info never has the same signatures again',
      concerns: below('', 'configmaps', named('cluster-info')),
      steps: /^created( data)*$/,
      uniquePart: ({ data = {} }) => (Object.keys(data).some((key) => key.startsWith('jws-')) ? data : null),
    },
    {
      what: 'the published authorities never are the same again',
      concerns: below('', 'configmaps', named('extension-apiserver-authentication')),
      steps: /^created( data)*$/,
      uniquePart: ({ data }) => data,
    },
    {
      what: 'an owner whose dependents wait, or lose their reference, is deleted once',
      concerns: below('', 'configmaps', (first) =>
        [ownerName('Foreground'), ownerName('Orphan')].includes(first.metadata.name),
      ),
      steps: /^created( deleted| terminating\+finalizers deleted)?$/,
    },
    {
      what: 'an orphan loses its reference once',
      concerns: below('', 'configmaps', isOrphan),
      steps: /^created( owners)?( deleted)?$/,
    },
    {
      what: 'an event about a step is recorded once',
      concerns: below('', 'events', ({ type }) => type !== 'Warning'),
      steps: /^created( deleted)?$/,
    },
    {
      what: 'an event about a failure is recorded as often as it happens',
      concerns: below('', 'events'),
      steps: /^created/,
    },
    {
      what: 'a request is approved, signed and removed once',
      concerns: below('certificates', 'certificatesigningrequests'),
      steps: /^created status\.conditions status\.certificate( deleted)?$/,
    },
    {
      what: 'a role never has the same aggregated rules again',
      concerns: below('rbac.authorization', 'clusterroles', named(aggregatedRole)),
      steps: /^created( rules)*$/,
      uniquePart: ({ rules }) => ((rules ?? []).length > 0 ? rules : null),
    },
    {
      what: 'the objects of a definition are deleted once, and then the definition',
      concerns: below('apiextensions', 'customresourcedefinitions', named(itemsDefinition)),
      steps: new RegExp(
        `^created( ${decision})?( terminating\\+finalizers\\+status\\.conditions` +
          `( ${decision})?( status\\.conditions)+ deleted( created( ${decision})?)?)?$`,
      ),
    },
    {
      // Its names may become free for another one while both are being deleted, also after that one
      // was reported as never established: then it is reported as established and deleted.
      what: 'the names of a definition are decided, and freed once',
      concerns: below('apiextensions', 'customresourcedefinitions'),
      steps: new RegExp(
        `^created( ${decision}){1,2}( terminating\\+finalizers\\+status\\.conditions` +
          `(( status\\.conditions)? ${decision})? status\\.conditions deleted)?$`,
      ),
    },
    {
      what: 'members and the fencing token change at any time',
      concerns: (key) => key.startsWith('internal/fences/') || /^cluster\.[a-z0-9.]+\/members\//.test(key),
      steps: /^created/,
    },
    {
      // A client that got no response creates it again, also when it was deleted in between.
      what: 'a lease of a former server is deleted once each time',
      concerns: below('coordination', 'leases', named('gone-server')),
      steps: /^created( deleted created)*( deleted)?$/,
    },
    {
      what: 'a default object of a namespace is created once, and once in a later namespace of its name',
      concerns: (key, { metadata }) =>
        ['default', names.rootCaConfigMap].includes(metadata.name) &&
        ['serviceaccounts', 'configmaps'].some((plural) =>
          key.startsWith(`/${plural}/${recreatedNamespace}/`),
        ),
      steps: /^created( deleted( created)?)?$/,
    },
    {
      what: 'everything else is created once, and deleted once',
      concerns: () => true,
      steps: /^created( deleted)?$/,
    },
  ]
}

/** Checks the steps of all objects. @throws Finding @returns the number of steps of each rule */
export function checkSteps(names: Names, history: ObjectHistory): ReadonlyMap<string, number> {
  const rules = stepRules(names)
  const counts = new Map<string, number>()
  for (const key of history.keys) {
    const versions = history.versionsOf(key)
    const [first] = versions
    if (first === undefined) continue
    const rule = rules.find(({ concerns }) => concerns(key, storedDoc(first)))
    if (rule === undefined) continue
    const steps = stepsOf(versions)
    if (!rule.steps.test(steps.join(' ')))
      throw new Finding('C2 once', `${rule.what}, but the steps of ${key} are: ${steps.join(', ')}`)
    if (rule.uniquePart !== undefined) checkUniquePart(key, rule, versions)
    counts.set(rule.what, (counts.get(rule.what) ?? 0) + steps.length)
  }
  return counts
}

function checkUniquePart(
  key: string,
  { what, uniquePart = () => null }: StepRule,
  versions: readonly Version[],
): void {
  const values = versions.filter(({ kind }) => kind !== 'deleted').map((one) => uniquePart(storedDoc(one)))
  const texts = values.filter((value) => value !== null).map((value) => JSON.stringify(value))
  if (new Set(texts).size !== texts.length)
    throw new Finding('C2 once', `${what}, but ${key} was: ${texts.join(', then ')}`)
}

/** Returns one word for each version. */
export function stepsOf(versions: readonly Version[]): readonly string[] {
  return versions.map((version, at) => {
    const before = versions[at - 1]
    if (version.kind !== 'updated' || before === undefined) return version.kind
    return changedParts(storedDoc(before), storedDoc(version)).join('+') || 'nothing'
  })
}

/** Parts of the metadata that every write may change. */
const ignored: ReadonlySet<string> = new Set([
  'resourceVersion',
  'managedFields',
  'generation',
  'deletionGracePeriodSeconds',
])
const partNames: Readonly<Record<string, string>> = {
  deletionTimestamp: 'terminating',
  ownerReferences: 'owners',
}

function changedParts(before: StoredDoc, after: StoredDoc): readonly string[] {
  const { metadata: metadataBefore, status: statusBefore = {}, ...restBefore } = before
  const { metadata: metadataAfter, status: statusAfter = {}, ...restAfter } = after
  return [
    ...differing(metadataBefore, metadataAfter)
      .filter((name) => !ignored.has(name))
      .map((name) => partNames[name] ?? name),
    ...differing(restBefore, restAfter),
    ...differing(statusBefore, statusAfter).map((name) => `status.${name}`),
  ].toSorted(byOrder)
}

/** `terminating` first, so that steps with it begin alike. */
function byOrder(a: string, b: string): number {
  if (a === 'terminating' || b === 'terminating') return a === 'terminating' ? -1 : 1
  return a < b ? -1 : 1
}

function differing(before: object, after: object): readonly string[] {
  const [a, b] = [before, after] as readonly Readonly<Record<string, unknown>>[]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => JSON.stringify(a?.[name]) !== JSON.stringify(b?.[name]))
}
