/*
 * Goal: the columns of Pods show what users know from `kubectl get pods`.
 * Method: a table of statuses; cells by the shipped columns, ages by the shipped rows.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { rowOf, rowText } from '../../../../../src/registry/representations/table.ts'
import { podDefinition } from '../../../../../src/resources/pod.ts'

const definition = podDefinition(namesOf('orch.io'))
const nowMs = Date.UTC(2026, 0, 2, 3, 0, 0)

/** @param status of a Pod with two containers and three init containers */
function cells(status: JsonObject, more: JsonObject = {}, spec: JsonObject = {}): readonly unknown[] {
  const object = {
    metadata: { name: 'a', creationTimestamp: '2026-01-02T02:00:00Z', ...more },
    spec: { containers: [{}, {}], initContainers: [{}, {}, {}], ...spec },
    status,
  }
  const bytes = Buffer.from(JSON.stringify(object))
  const shape = { apiVersion: 'meta.k8s.io/v1', includeObject: 'None' } as const
  const row = JSON.parse(rowText(rowOf(definition, shape, bytes), nowMs)) as {
    readonly cells: readonly unknown[]
  }
  return row.cells
}

const running = { ready: true, state: { running: {} } }
const waiting = (reason: string): JsonObject => ({ state: { waiting: { reason } } })
const ended = (terminated: JsonObject): JsonObject => ({ state: { terminated } })
const done = ended({ exitCode: 0, reason: 'Completed' })

void test('Pods have the columns of 1.24, the last four only in wide output', () => {
  const heads = (definition.columns ?? []).map(
    ({ name, type, priority = 0 }) => `${name} ${type} ${priority}`,
  )
  assert.deepEqual(heads, [
    ...['Name string 0', 'Ready string 0', 'Status string 0', 'Restarts string 0', 'Age string 0'],
    ...['IP string 1', 'Node string 1', 'Nominated Node string 1', 'Readiness Gates string 1'],
  ])
})

void test('Status and Ready summarize the states of the containers', () => {
  const rows: readonly (readonly [status: JsonObject, ready: string, shown: string, deleted?: boolean])[] = [
    [{ phase: 'Pending' }, '0/2', 'Pending'],
    [{ phase: 'Failed', reason: 'Evicted' }, '0/2', 'Evicted'],
    [{ phase: 'Running', containerStatuses: [running, running] }, '2/2', 'Running'],
    [
      { phase: 'Running', containerStatuses: [running, waiting('CrashLoopBackOff')] },
      '1/2',
      'CrashLoopBackOff',
    ],
    [{ phase: 'Pending', containerStatuses: [waiting('A'), waiting('B')] }, '0/2', 'A'],
    [
      { phase: 'Running', containerStatuses: [ended({ exitCode: 1, reason: 'Error' }), running] },
      '1/2',
      'Error',
    ],
    [{ phase: 'Failed', containerStatuses: [ended({ exitCode: 3 })] }, '0/2', 'ExitCode:3'],
    [{ phase: 'Failed', containerStatuses: [ended({ exitCode: 3, signal: 9 })] }, '0/2', 'Signal:9'],
    [{ phase: 'Failed', containerStatuses: [ended({})] }, '0/2', 'ExitCode:0'],
    [{ phase: 'Succeeded', containerStatuses: [done, done] }, '0/2', 'Completed'],
    [{ phase: 'Running', containerStatuses: [done, running] }, '1/2', 'NotReady'],
    [
      {
        phase: 'Running',
        containerStatuses: [done, running],
        conditions: [{ type: 'Ready', status: 'True' }],
      },
      ...(['1/2', 'Running'] as const),
    ],
    [{ phase: 'Pending', initContainerStatuses: [done, { state: { running: {} } }] }, '0/2', 'Init:1/3'],
    [{ phase: 'Pending', initContainerStatuses: [waiting('PodInitializing')] }, '0/2', 'Init:0/3'],
    [{ phase: 'Pending', initContainerStatuses: [waiting('ErrImagePull')] }, '0/2', 'Init:ErrImagePull'],
    [
      { phase: 'Pending', initContainerStatuses: [ended({ exitCode: 1, reason: 'Error' })] },
      '0/2',
      'Init:Error',
    ],
    [{ phase: 'Pending', initContainerStatuses: [ended({ exitCode: 1 })] }, '0/2', 'Init:ExitCode:1'],
    [
      { phase: 'Pending', initContainerStatuses: [ended({ exitCode: 1, signal: 9 })] },
      '0/2',
      'Init:Signal:9',
    ],
    [{ phase: 'Running', containerStatuses: [running, running] }, '2/2', 'Terminating', true],
    [{ phase: 'Running', reason: 'NodeLost', containerStatuses: [running] }, '1/2', 'Unknown', true],
  ]
  for (const [status, ready, shown, deleted = false] of rows) {
    const metadata = deleted ? { deletionTimestamp: '2026-01-02T03:00:00Z' } : {}
    assert.deepEqual(cells(status, metadata).slice(0, 3), ['a', ready, shown], JSON.stringify(status))
  }
})

void test('Restarts shows the number of restarts and the time since the last restart', () => {
  const before = (finishedAt: string): JsonObject => ({
    lastState: { terminated: { exitCode: 1, finishedAt } },
  })
  assert.equal(cells({ containerStatuses: [running] })[3], '0')
  const twice = [
    { ...running, restartCount: 2, ...before('2026-01-02T02:50:00Z') },
    { ...running, restartCount: 3, ...before('2026-01-02T02:55:00Z') },
  ]
  assert.equal(cells({ containerStatuses: twice })[3], '5 (5m ago)')
  const init = [{ ...done, restartCount: 4 }]
  assert.equal(cells({ initContainerStatuses: init, containerStatuses: twice })[3], '5 (5m ago)')
  const still = [{ ...waiting('CrashLoopBackOff'), restartCount: 4, ...before('2026-01-02T02:59:00Z') }]
  assert.deepEqual(cells({ initContainerStatuses: still }).slice(2, 5), [
    'Init:CrashLoopBackOff',
    '4 (60s ago)',
    '60m',
  ])
})

void test('wide columns show IP, nodes and readiness gates', () => {
  assert.deepEqual(cells({}).slice(5), ['<none>', '<none>', '<none>', '<none>'])
  const spec = { nodeName: 'n', readinessGates: [{ conditionType: 'x' }, { conditionType: 'y' }] }
  const conditions = [
    { type: 'x', status: 'True' },
    { type: 'y', status: 'False' },
  ]
  const status = { podIPs: [{ ip: '10.0.0.1' }, { ip: '::1' }], nominatedNodeName: 'm', conditions }
  assert.deepEqual(cells(status, {}, spec).slice(5), ['10.0.0.1', 'n', 'm', '1/2'])
})

void test('a Pod with as many readiness gates and conditions as a body can hold has its row', () => {
  const types = Array.from({ length: bodyLimits.valuesMax / 4 }, (_, at) => `example.com/c${at}`)
  const spec = { readinessGates: types.map((conditionType) => ({ conditionType })) }
  const conditions = types.map((type) => ({ type, status: 'True' }))
  assert.equal(cells({ conditions }, {}, spec)[8], `${types.length}/${types.length}`)
})
