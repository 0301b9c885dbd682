/*
 * Goal: each check of the workload test fails on the fault that it looks for.
 * Method: a correct history of one ReplicaSet, and the same with one fault.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { differences } from '../../support/workload/end-state.ts'
import { Journal } from '../../support/workload/journal.ts'
import type { RecordedEvent, StoredObject } from '../../support/workload/watch-recorder.ts'
import {
  agreementViolations,
  historyViolations,
  leaderViolations,
} from '../../support/workload/workload-checks.ts'
import { creationAnnotation } from '../../support/workload/owned.ts'

const owner = 'set-uid'

/** The state of a Pod, and its name, UID and creation. */
type PodState = {
  readonly id: string
  readonly node?: string
  readonly deleting?: boolean
  readonly uid?: string
}

/** A history that is written step by step; each step has the next version. */
class History {
  readonly pods: RecordedEvent[] = []
  readonly replicaSets: RecordedEvent[] = []
  readonly journal = new Journal()
  readonly agents = new Map([
    ['n1', new Set<string>()],
    ['n2', new Set<string>()],
  ])
  #version = 10

  constructor(replicas: number) {
    this.size(replicas)
  }

  size(replicas: number): void {
    const metadata = { name: 'set', uid: owner, resourceVersion: String(++this.#version) }
    const type = this.replicaSets.length === 0 ? 'ADDED' : 'MODIFIED'
    this.replicaSets.push({ type, version: this.#version, object: { metadata, spec: { replicas } } })
  }

  /** Creates a Pod by a request, as the controller that knows the newest size. */
  create(id: string, of: { readonly answered?: boolean; readonly replicas?: number } = {}): void {
    const set = this.replicaSets.at(-1)
    const replicas = of.replicas ?? set?.object.spec?.replicas ?? 0
    const creation = this.journal.create({ id, owner, replicas, ownerVersion: set?.version ?? 0 })
    this.event('ADDED', { id })
    creation.outcome = of.answered === false ? 'unknown' : 'created'
    if (of.answered !== false) creation.pod = { name: `pod-${id}`, uid: `uid-${id}`, version: this.#version }
  }

  bind(id: string, node: string): void {
    this.journal.bind(`uid-${id}`, node).outcome = 'bound'
    this.agents.get(node)?.add(`uid-${id}`)
    this.event('MODIFIED', { id, node })
  }

  run(id: string, node: string): void {
    this.create(id)
    this.bind(id, node)
  }

  remove(id: string, node: string, by: 'test' | 'controller'): void {
    this.journal.delete(`uid-${id}`, by).outcome = 'deleted'
    this.event('MODIFIED', { id, node, deleting: true })
    this.journal.delete(`uid-${id}`, 'agent').outcome = 'deleted'
    this.event('DELETED', { id, node, deleting: true })
  }

  event(type: RecordedEvent['type'], { id, node, deleting, uid = `uid-${id}` }: PodState): void {
    const object: StoredObject = {
      metadata: {
        ...{ name: `pod-${id}`, uid, resourceVersion: String(++this.#version) },
        annotations: { [creationAnnotation]: id },
        ownerReferences: [{ kind: 'ReplicaSet', uid: owner }],
        ...(deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      },
      spec: node === undefined ? {} : { nodeName: node },
    }
    this.pods.push({ type, version: this.#version, object })
  }
}

/**
 * Returns a history of two Pods: the test deletes one, which is replaced, then the ReplicaSet
 * shrinks and grows again.
 */
function correct(): History {
  const history = new History(2)
  history.run('a', 'n1')
  history.run('b', 'n2')
  history.remove('a', 'n1', 'test')
  history.run('c', 'n1')
  history.size(1)
  history.remove('b', 'n2', 'controller')
  history.size(2)
  history.run('d', 'n2')
  return history
}

void test('a correct history has no violation', () => {
  assert.deepEqual(historyViolations(correct()), [])
})

const faults: readonly {
  readonly what: string
  readonly expected: RegExp
  readonly inflict: (history: History) => void
}[] = [
  {
    what: 'a Pod too many after an answered creation',
    expected: /3 Pods at \d+, of 2 that are admitted/,
    inflict: (history) => history.run('e', 'n1'),
  },
  {
    what: 'a creation for a size that the ReplicaSet did not have',
    expected: /created for 7 replicas, but its ReplicaSet had 2/,
    inflict: (history) => {
      history.remove('d', 'n2', 'test')
      history.create('e', { replicas: 7 })
      history.bind('e', 'n1')
    },
  },
  {
    what: 'two Pods from one request',
    expected: /one request created pod-d and pod-x/,
    inflict: ({ pods }) => {
      const { object, version } = pods.at(-1) ?? assert.fail('an event')
      const metadata = { ...object.metadata, name: 'pod-x', uid: 'uid-x' }
      pods.push({ type: 'ADDED', version: version + 1, object: { ...object, metadata } })
    },
  },
  {
    what: 'an acknowledged Pod that never appeared',
    expected: /Pod lost-pod was acknowledged, and lost/,
    inflict: ({ journal }) => {
      const creation = journal.create({ id: 'l', owner, replicas: 2, ownerVersion: 11 })
      creation.outcome = 'created'
      creation.pod = { name: 'lost-pod', uid: 'lost', version: 99 }
    },
  },
  {
    what: 'a Pod from a refused request',
    expected: /created by a refused request: d/,
    inflict: ({ journal }) => {
      const creation = journal.creations.get('d') ?? assert.fail('a creation')
      creation.outcome = 'refused'
    },
  },
  {
    what: 'a Pod from no request',
    expected: /no request created Pod pod-z/,
    inflict: (history) => history.event('ADDED', { id: 'z' }),
  },
  {
    what: 'a Pod whose node changes',
    expected: /it is bound to n2, and now to n1/,
    inflict: (history) => history.event('MODIFIED', { id: 'd', node: 'n1' }),
  },
  {
    what: 'two successful bindings',
    expected: /Pod pod-d was bound 2 times/,
    inflict: ({ journal }) => {
      journal.bind('uid-d', 'n1').outcome = 'bound'
    },
  },
  {
    what: 'a lost binding',
    expected: /the binding of Pod pod-e to n1 was lost/,
    inflict: (history) => {
      history.remove('d', 'n2', 'test')
      history.create('e')
      history.journal.bind('uid-e', 'n1').outcome = 'bound'
    },
  },
  {
    what: 'a Pod on a node that does not exist',
    expected: /Pod pod-e is bound to n9, which does not exist/,
    inflict: (history) => {
      history.remove('d', 'n2', 'test')
      history.run('e', 'n9')
    },
  },
  {
    what: 'a binding that was refused',
    expected: /no request that may have succeeded bound Pod pod-d to n2/,
    inflict: ({ journal }) => {
      for (const binding of journal.bindings) if (binding.uid === 'uid-d') binding.outcome = 'refused'
    },
  },
  {
    what: 'a Pod that two nodes were given',
    expected: /Pod pod-d on n2 was given to n1, n2/,
    inflict: ({ agents }) => void agents.get('n1')?.add('uid-d'),
  },
  {
    what: 'a Pod that its node was never given',
    expected: /Pod pod-d was given to no node/,
    inflict: ({ agents }) => void agents.get('n2')?.delete('uid-d'),
  },
  {
    what: 'a Pod that nothing deleted',
    expected: /Pod pod-d was lost: no request deleted it/,
    inflict: (history) => {
      history.event('MODIFIED', { id: 'd', node: 'n2', deleting: true })
    },
  },
  {
    what: 'a bound Pod that is removed at once',
    expected: /was removed without its grace period/,
    inflict: (history) => {
      history.journal.delete('uid-d', 'test').outcome = 'deleted'
      history.event('DELETED', { id: 'd', node: 'n2' })
    },
  },
  {
    what: 'a Pod that is removed without its agent',
    expected: /was removed before its agent ended it/,
    inflict: (history) => {
      history.journal.delete('uid-d', 'test').outcome = 'deleted'
      history.event('MODIFIED', { id: 'd', node: 'n2', deleting: true })
      history.event('DELETED', { id: 'd', node: 'n2', deleting: true })
    },
  },
  {
    what: 'an acknowledged deletion without effect',
    expected: /the deletion of Pod uid-d by the test was acknowledged, and lost/,
    inflict: ({ journal }) => {
      journal.delete('uid-d', 'test').outcome = 'deleted'
    },
  },
  {
    what: 'a Pod that comes back',
    expected: /its UID was used before/,
    inflict: (history) => {
      history.remove('d', 'n2', 'test')
      history.event('ADDED', { id: 'd', node: 'n2' })
    },
  },
  {
    what: 'a deletion that is taken back',
    expected: /its deletion was taken back/,
    inflict: (history) => {
      history.journal.delete('uid-d', 'test').outcome = 'deleted'
      history.event('MODIFIED', { id: 'd', node: 'n2', deleting: true })
      history.event('MODIFIED', { id: 'd', node: 'n2' })
    },
  },
  {
    what: 'an event about another Pod of the name',
    expected: /it has UID uid-d/,
    inflict: (history) => history.event('MODIFIED', { id: 'd', node: 'n2', uid: 'another' }),
  },
  {
    what: 'a second creation of a name',
    expected: /it exists since/,
    inflict: (history) => history.event('ADDED', { id: 'd', uid: 'another' }),
  },
  {
    what: 'more deletions by the controller than needed',
    expected: /the controller deleted 2 Pods of set-uid, and had to delete 1 at most/,
    inflict: (history) => history.remove('d', 'n2', 'controller'),
  },
  {
    what: 'a Pod of a ReplicaSet that never existed',
    expected: /belongs to set-uid, which never existed/,
    inflict: ({ replicaSets }) => void replicaSets.splice(0),
  },
]

void describe('each fault of a history is found', () => {
  for (const { what, expected, inflict } of faults) {
    void test(`a fault of a history is found: ${what}`, () => {
      const history = correct()
      inflict(history)
      assert.match(historyViolations(history).join('\n'), expected)
    })
  }
})

void test('a creation without a response admits one more Pod while that Pod exists, and the deletion of that Pod', () => {
  const history = correct()
  history.create('e', { answered: false })
  history.bind('e', 'n1')
  assert.deepEqual(historyViolations(history), [])
  history.remove('e', 'n1', 'controller')
  assert.deepEqual(historyViolations(history), [])
  history.run('f', 'n1')
  assert.match(historyViolations(history).join('\n'), /3 Pods at \d+, of 2 that are admitted/)
})

void test('two records differ at the first event that only one of them has', () => {
  const { pods } = correct()
  assert.deepEqual(agreementViolations(pods, pods), [])
  assert.match(agreementViolations(pods, pods.slice(1)).join(), /differ at event 1/)
  assert.match(agreementViolations(pods, [...pods, ...pods.slice(-1)]).join(), /nothing and MODIFIED/)
})

void test('terms of controllers must not overlap', () => {
  const term = (identity: string, startMs: number, endMs: number | null) => ({ identity, startMs, endMs })
  assert.deepEqual(leaderViolations([term('a', 0, 5), term('b', 5, null)]), [])
  assert.equal(leaderViolations([term('a', 0, 6), term('b', 5, null)]).length, 1)
  assert.equal(leaderViolations([term('a', 0, null), term('b', 5, null)]).length, 1)
})

void describe('the end state', () => {
  const goal = { deployments: 1, replicas: 1, nodes: new Set(['n1']) }
  const meta = (name: string, of: object = {}): StoredObject['metadata'] => ({
    ...{ name, uid: `uid-${name}`, resourceVersion: '1', generation: 1 },
    ...of,
  })
  const ownedBy = (kind: string, uid: string): object => ({ ownerReferences: [{ kind, uid }] })
  const counts = {
    observedGeneration: 1,
    replicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    updatedReplicas: 1,
  }
  const deployment: StoredObject = { metadata: meta('d'), spec: { replicas: 1 }, status: counts }
  const replicaSet = { ...deployment, metadata: meta('s', ownedBy('Deployment', 'uid-d')) }
  const conditions = [{ type: 'Ready', status: 'True' }]
  const pod: StoredObject = {
    metadata: meta('p', ownedBy('ReplicaSet', 'uid-s')),
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', conditions },
  }
  const whole = { deployments: [deployment], replicaSets: [replicaSet], pods: [pod] }

  void test('the end state has no differences when all Pods run', () => {
    assert.deepEqual(differences(whole, goal), [])
  })

  const table: readonly (readonly [string, Partial<typeof whole>, RegExp])[] = [
    ['no Deployment', { deployments: [] }, /there are 0 Deployments/],
    ['no ReplicaSet', { replicaSets: [] }, /Pod p has no owner[^]*Deployment d has 0 ReplicaSets/],
    ['two ReplicaSets', { replicaSets: [replicaSet, replicaSet] }, /Deployment d has 2 ReplicaSets/],
    ['no Pod', { pods: [] }, /ReplicaSet s has 0 Pods/],
    ['a Pod too many', { pods: [pod, pod] }, /ReplicaSet s has 2 Pods/],
    ['an orphan', { pods: [pod, { ...pod, metadata: meta('o') }] }, /Pod o has no owner/],
    ['an unbound Pod', { pods: [{ ...pod, spec: {} }] }, /Pod p is not bound/],
    [
      'an unknown node',
      { pods: [{ ...pod, spec: { nodeName: 'n2' } }] },
      /bound to n2, which does not exist/,
    ],
    ['a pending Pod', { pods: [{ ...pod, status: { phase: 'Pending' } }] }, /Pod p does not run/],
    [
      'an old status',
      { deployments: [{ ...deployment, status: { ...counts, replicas: 2 } }] },
      /status.replicas 2/,
    ],
    [
      'an old generation',
      { deployments: [{ ...deployment, metadata: meta('d', { generation: 2 }) }] },
      /older gen/,
    ],
    ['another size', { deployments: [{ ...deployment, spec: { replicas: 2 } }] }, /spec.replicas 2/],
  ]
  for (const [what, part, expected] of table) {
    void test(`the end state differs by ${what}`, () => {
      assert.match(differences({ ...whole, ...part }, goal).join('\n'), expected)
    })
  }
})
