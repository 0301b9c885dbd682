/*
 * Goal: the checkers of simulated controllers find a step that was done twice, too early, or on
 * outdated knowledge, and accept every correct history.
 * Method: for each rule, histories by hand, correct ones and ones with a single mistake.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { Version } from '../../simulation/checkers/version.ts'
import { checkOrder } from '../../simulation/controllers/order.ts'
import { checkSteps } from '../../simulation/controllers/steps.ts'
import type { ObjectHistory } from '../../simulation/controllers/steps.ts'

const names = namesOf('k8s.io')

type Content = Readonly<Record<string, unknown>> & { readonly metadata?: Readonly<Record<string, unknown>> }

/** A history that grows write by write. */
class Writes implements ObjectHistory {
  readonly #versions = new Map<string, Version[]>()
  revision = 0

  get keys(): Iterable<string> {
    return this.#versions.keys()
  }

  versionsOf(key: string): readonly Version[] {
    return this.#versions.get(key) ?? []
  }

  /** @param last whether this is the last write of its command */
  put(key: string, content: Content = {}, last = true): this {
    const versions = this.#versions.get(key) ?? []
    this.#versions.set(key, versions)
    const before = versions.at(-1)
    const isNew = before === undefined || before.kind === 'deleted'
    const uid = isNew ? `${key} ${versions.length}` : before.uid
    const [, , namespace = '', name = ''] = key.split('/')
    const doc = { ...content, metadata: { ...content.metadata, name, namespace, uid } }
    versions.push({
      ...{ key, revision: ++this.revision, kind: isNew ? 'created' : 'updated', uid, last, labels: null },
      ...{ previous: before?.revision ?? 0, terminating: false },
      bytes: Buffer.from(JSON.stringify(doc)),
    })
    return this
  }

  remove(key: string): this {
    const versions = this.#versions.get(key) ?? []
    const before = versions.at(-1)
    assert.ok(before !== undefined && before.kind !== 'deleted', `${key} exists`)
    versions.push({
      ...before,
      kind: 'deleted',
      revision: ++this.revision,
      previous: before.revision,
      last: true,
    })
    return this
  }
}

function finds(claim: RegExp, history: ObjectHistory): void {
  const isFound = (cause: unknown): boolean => cause instanceof BrokenInvariant && claim.test(cause.message)
  assert.throws(() => {
    checkOrder(names, history)
    checkSteps(names, history)
  }, isFound)
}

function accepts(history: ObjectHistory): void {
  checkOrder(names, history)
  checkSteps(names, history)
}

const terminating = { metadata: { deletionTimestamp: 'now' } }
const tokenType = { type: names.secretTypes.serviceAccountToken }
const request = 'certificates.k8s.io/certificatesigningrequests//r'
const approved = { status: { conditions: [{ type: 'Approved' }] } }
const signed = { status: { ...approved.status, certificate: 'one' } }
const claim = '/persistentvolumeclaims/w0/pod0-v'

void test('an object that a controller creates again or changes is found', () => {
  const account = '/serviceaccounts/w0/default'
  accepts(new Writes().put(account).remove(account))
  finds(
    /^C2 once: everything else .* created, deleted, created/,
    new Writes().put(account).remove(account).put(account),
  )
  finds(
    /^C2 once: everything else .* created, data/,
    new Writes().put(account).put(account, { data: { a: '1' } }),
  )
})

void test('a default object may be created once more only in the namespace that the workload creates again', () => {
  const [before, later] = ['w0', 'w1'].map((namespace) => `/configmaps/${namespace}/${names.rootCaConfigMap}`)
  assert.ok(before !== undefined && later !== undefined)
  accepts(new Writes().put(later).remove(later).put(later))
  finds(
    /^C2 once: a default object of a namespace/,
    new Writes().put(later).remove(later).put(later).remove(later).put(later),
  )
  finds(/^C2 once: everything else/, new Writes().put(before).remove(before).put(before))
})

void test('a definition with objects that is deleted twice is found', () => {
  const items = 'apiextensions.k8s.io/customresourcedefinitions//items.example.com'
  const decided = { status: { acceptedNames: { kind: 'Item' }, conditions: [{ type: 'Established' }] } }
  const marked = {
    metadata: { deletionTimestamp: 'now', finalizers: ['f'] },
    status: { ...decided.status, conditions: [{ type: 'Terminating' }] },
  }
  const emptied = {
    ...marked,
    status: { ...marked.status, conditions: [{ type: 'Terminating', status: 'False' }] },
  }
  const first = (): Writes =>
    new Writes().put(items).put(items, decided).put(items, marked).put(items, emptied).remove(items)
  accepts(first().put(items).put(items, decided))
  finds(/^C2 once: the objects of a definition/, first().put(items).put(items, decided).remove(items))
})

void test('a definition gets names once while it is being deleted, also after it was reported as never established', () => {
  const thing = 'apiextensions.k8s.io/customresourcedefinitions//things.example.com'
  const is = (
    acceptedNames: object,
    condition: string,
    isMarked = true,
  ): Readonly<Record<string, unknown>> => ({
    metadata: isMarked ? { deletionTimestamp: 'now', finalizers: ['f'] } : {},
    status: { acceptedNames, conditions: [{ type: condition }] },
  })
  const kind = { kind: 'Thing' }
  const refused = (): Writes =>
    new Writes()
      .put(thing)
      .put(thing, is({ plural: 'things' }, 'NamesRefused', false))
      .put(thing, is({ plural: 'things' }, 'Terminating'))
  accepts(
    refused()
      .put(thing, is({ plural: 'things' }, 'Never'))
      .remove(thing),
  )
  const late = (): Writes =>
    refused()
      .put(thing, is({ plural: 'things' }, 'Never'))
      .put(thing, is(kind, 'Later'))
  accepts(late().put(thing, is(kind, 'Completed')).remove(thing))
  const twice = refused()
    .put(thing, is({ plural: 'things' }, 'Never'))
    .put(thing, is({ plural: 'things' }, 'Other'))
  finds(/^C2 once: the names of a definition/, twice.remove(thing))
})

void test('a second token of one Secret is found', () => {
  const once = new Writes()
    .put('/secrets/w0/s', tokenType)
    .put('/secrets/w0/s', { ...tokenType, data: { token: '1' } })
  accepts(once)
  finds(
    /^C2 once: a Secret gets one token/,
    once.put('/secrets/w0/s', { ...tokenType, data: { token: '2' } }),
  )
})

void test('a request that is approved twice, signed twice, or never signed is found', () => {
  accepts(new Writes().put(request).put(request, approved).put(request, signed).remove(request))
  const other = { status: { ...signed.status, certificate: 'two' } }
  finds(
    /^C2 once: a request/,
    new Writes().put(request).put(request, approved).put(request, signed).put(request, other),
  )
  const two = { status: { conditions: [{ type: 'Approved' }, { type: 'Approved' }] } }
  finds(
    /^C2 once: a request/,
    new Writes().put(request).put(request, approved).put(request, two).put(request, signed),
  )
  finds(/^C2 once: a request/, new Writes().put(request).put(request, approved).remove(request))
})

void test('a claim that is created again, or released while its Pod lives, is found', () => {
  const pod = '/pods/w0/pod0'
  const owned = { metadata: { ownerReferences: [{ uid: `${pod} 0`, name: 'pod0' }] } }
  const held = { metadata: { ...owned.metadata, ...terminating.metadata } }
  accepts(new Writes().put(pod).put(claim, owned).remove(pod).put(claim, held).remove(claim))
  finds(
    /^C2 once: a claim/,
    new Writes().put(pod).put(claim, owned).remove(pod).put(claim, held).remove(claim).put(claim, owned),
  )
  finds(
    /^C3 order: .* while pod0 uses it/,
    new Writes().put(pod).put(claim, owned).put(claim, held).remove(claim),
  )
})

void test('an owner that is deleted before its dependents are gone or released is found', () => {
  for (const [mode, finalizer] of [
    ['foreground', 'foregroundDeletion'],
    ['orphan', 'orphan'],
  ] as const) {
    const [owner, child] = [`/configmaps/w0/owner-${mode}`, `/configmaps/w0/owner-${mode}-child0`]
    const owned = { metadata: { ownerReferences: [{ uid: `${owner} 0`, name: 'owner' }] } }
    const waiting = { metadata: { ...terminating.metadata, finalizers: [finalizer] } }
    const begun = (): Writes => new Writes().put(owner).put(child, owned).put(owner, waiting)
    finds(/^C3 order: .* is deleted before/, begun().remove(owner))
    accepts(mode === 'orphan' ? begun().put(child).remove(owner) : begun().remove(child).remove(owner))
  }
})

void test('a dependent of an owner that is deleted in the background may outlive its owner', () => {
  const [owner, child] = ['/configmaps/w0/owner-background', '/configmaps/w0/owner-background-child0']
  const owned = { metadata: { ownerReferences: [{ uid: `${owner} 0`, name: 'owner' }] } }
  accepts(new Writes().put(owner).put(child, owned).remove(owner).remove(child))
})

void test('two definitions that accept the same name are found, also if one gives it up later', () => {
  const [one, other] = ['a', 'b'].map((name) => `apiextensions.k8s.io/customresourcedefinitions//${name}`)
  assert.ok(one !== undefined && other !== undefined)
  const decided = (shortNames: readonly string[], reason: string): Content => ({
    status: { acceptedNames: { shortNames }, conditions: [{ type: 'NamesAccepted', reason }] },
  })
  const first = (): Writes =>
    new Writes()
      .put(one)
      .put(other)
      .put(one, decided(['same'], 'NoConflicts'))
  accepts(first().put(other, decided([], 'Conflict')))
  finds(
    /^C4 names: /,
    first()
      .put(other, decided(['same'], 'NoConflicts'))
      .put(other, decided([], 'Conflict')),
  )
})

void test('a quota that counts fewer objects than are stored is found, once it has counted them for the first time', () => {
  const [quota, map] = ['/resourcequotas/w0/quota', '/configmaps/w0/map0']
  const counts = (used: string): Content => ({
    status: { hard: { 'count/configmaps': '9' }, used: { 'count/configmaps': used } },
  })
  accepts(new Writes().put(map).put(quota).put(quota, counts('1')))
  // One command stores an object and its usage.
  accepts(new Writes().put(quota).put(quota, counts('0')).put(map, {}, false).put(quota, counts('1')))
  finds(/^C5 usage: .* counts 0 configmaps of 1/, new Writes().put(quota).put(quota, counts('0')).put(map))
})

void test('a role or cluster-info that returns to an earlier content is found', () => {
  const role = 'rbac.authorization.k8s.io/clusterroles//whole'
  const rules = (...resources: readonly string[]): Content => ({
    rules: resources.map((one) => ({ resources: [one] })),
  })
  accepts(
    new Writes().put(role, rules()).put(role, rules('a')).put(role, rules('a', 'b')).put(role, rules('b')),
  )
  finds(
    /^C2 once: a role never/,
    new Writes().put(role, rules('a')).put(role, rules('a', 'b')).put(role, rules('a')),
  )
  const info = '/configmaps/kube-public/cluster-info'
  const data = (...signatures: readonly string[]): Content => ({
    data: Object.fromEntries(signatures.map((one) => [`jws-${one}`, 'signed'])),
  })
  accepts(new Writes().put(info, data()).put(info, data('a')).put(info, data('a', 'b')))
  finds(
    /^C2 once: cluster-info never/,
    new Writes().put(info, data('a')).put(info, data('a', 'b')).put(info, data('a')),
  )
})

void test('an event about a step that is recorded twice is found, and one about a failure is not', () => {
  const step = { type: 'Normal', reason: 'CertificateApproved', count: 1 }
  const failure = { type: 'Warning', reason: 'FailedBinding', count: 1 }
  const again = (of: Content): Content => ({ ...of, count: 2, lastTimestamp: 'later' })
  accepts(
    new Writes().put('/events/w0/e', failure).put('/events/w0/e', again(failure)).remove('/events/w0/e'),
  )
  finds(
    /^C2 once: an event about a step/,
    new Writes().put('/events/w0/e', step).put('/events/w0/e', again(step)),
  )
})
