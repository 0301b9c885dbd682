/*
 * Goal: Job and CronJob follow the rules of upstream 1.24.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memberOf, objectMember, withoutMembers } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { scheduleError } from '../../../../src/resources/jobs/schedule.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const template = { spec: { containers: [{ name: 'c', image: 'busybox:1' }], restartPolicy: 'Never' } }
const body = { metadata: { name: 'w' }, spec: { template } }

void test('a Job has Pods that end, and valid counts and completions', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const policy = (restartPolicy: string | null): JsonObject => ({
    spec: { template: { spec: { restartPolicy } } },
  })
  const field = 'spec.template.spec.restartPolicy'
  await refusesNew(api, { kind: 'Job', body }, [
    [policy('Always'), [`FieldValueRequired ${field}`], 'valid values: "OnFailure", "Never"'],
    [policy(null), [`FieldValueRequired ${field}`], 'valid values: "OnFailure", "Never"'],
    [{ spec: { parallelism: -1 } }, ['FieldValueInvalid spec.parallelism'], 'greater than or equal to 0'],
    [{ spec: { backoffLimit: -1 } }, ['FieldValueInvalid spec.backoffLimit']],
    [{ spec: { ttlSecondsAfterFinished: -1 } }, ['FieldValueInvalid spec.ttlSecondsAfterFinished']],
    [{ spec: { completionMode: 'Some' } }, ['FieldValueNotSupported spec.completionMode']],
    [
      { spec: { completionMode: 'Indexed', parallelism: 2 } },
      ['FieldValueRequired spec.completions'],
      'when completion mode is Indexed',
    ],
    [
      { spec: { completionMode: 'Indexed', completions: 1, parallelism: 100_001 } },
      ['FieldValueInvalid spec.parallelism'],
      'must be less than or equal to 100000 when completion mode is Indexed',
    ],
    [
      { spec: { template: { spec: { containers: null } } } },
      ['FieldValueRequired spec.template.spec.containers'],
    ],
  ])
})

void test('a Job selects its Pods by its uid, unless its selector is manual', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'Job'
  const { object } = await api.create({ kind, body })
  const { uid = '' } = object.metadata
  const spec = objectMember(object, 'spec')
  assert.deepEqual(spec['selector'], { matchLabels: { 'controller-uid': uid } })
  assert.deepEqual(objectMember(objectMember(spec, 'template'), 'metadata')['labels'], {
    'job-name': 'w',
    'controller-uid': uid,
  })
  assert.deepEqual(withoutMembers(spec, 'selector', 'template'), {
    ...{ parallelism: 1, completions: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false },
  })
  assert.deepEqual(object.metadata.labels, { 'job-name': 'w', 'controller-uid': uid })
  const again = await api.patch({ kind, name: 'w', body: {} })
  assert.deepEqual(again.object, object, 'a patch without a change writes nothing')
  const field = 'FieldValueInvalid spec.selector'
  await refusesNew(api, { kind, body }, [
    [
      { spec: { selector: { matchLabels: { app: 'x' } } } },
      ['FieldValueInvalid spec.template.metadata.labels', field],
      '`selector` not auto-generated',
    ],
    [{ spec: { manualSelector: true } }, ['FieldValueRequired spec.selector']],
  ])
  const manual = { metadata: { labels: { app: 'x' } }, spec: template.spec }
  const own = { selector: { matchLabels: { app: 'x' } }, manualSelector: true, template: manual }
  const made = await api.create({ kind, body: { metadata: { name: 'manual' }, spec: own } })
  assert.deepEqual(made.object.metadata.labels, { app: 'x' })
  assert.deepEqual(objectMember(made.object, 'spec')['selector'], own.selector)
})

void test('the template of a Job changes only where its Pods run, and only while it is suspended', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'Job'
  await api.create({ kind, body })
  const placed = { spec: { template: { spec: { nodeSelector: { disk: 'fast' } } } } }
  await refusesChange(api, { kind, name: 'w' }, [
    [placed, ['FieldValueInvalid spec.template'], 'field is immutable'],
    [{ spec: { completions: 2 } }, ['FieldValueInvalid spec.completions'], 'field is immutable'],
    [{ spec: { completionMode: 'Indexed' } }, ['FieldValueInvalid spec.completionMode']],
  ])
  await api.patch({ kind, name: 'w', body: { spec: { parallelism: 3, suspend: true } } })
  const moved = await api.patch({ kind, name: 'w', body: placed })
  assert.equal(moved.object.metadata.generation, 3)
  const image = { spec: { template: { spec: { containers: [{ name: 'c', image: 'other:1' }] } } } }
  await refusesChange(api, { kind, name: 'w' }, [[image, ['FieldValueInvalid spec.template']]])
})

void test("a Job that is deleted without a policy keeps its Pods, with upstream's warning", async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const cron = {
    ...body,
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template } } },
  }
  const controller = {
    metadata: { name: 'w' },
    spec: {
      selector: { app: 'w' },
      template: { metadata: { labels: { app: 'w' } }, spec: { containers: template.spec.containers } },
    },
  }
  // Jobs, beta CronJobs and ReplicationControllers keep their dependents by default. CronJobs of
  // v1 do not.
  for (const [kind, object, isKept] of [
    ['Job', body, true],
    ['batch/v1beta1/CronJob', cron, true],
    ['batch/v1/CronJob', cron, false],
    ['ReplicationController', controller, true],
  ] as const) {
    for (const propagationPolicy of [undefined, 'Background', 'Orphan']) {
      await api.create({ kind, body: object })
      api.warnings.length = 0
      await api.delete({
        kind,
        name: 'w',
        ...(propagationPolicy === undefined ? {} : { query: { propagationPolicy } }),
      })
      const isWarned = api.warnings.some((text) => text.startsWith('child pods are preserved by default'))
      assert.equal(isWarned, kind === 'Job' && propagationPolicy === undefined)
      if (propagationPolicy === 'Background' || (propagationPolicy === undefined && !isKept)) continue
      const { object: marked } = await api.get({ kind, name: 'w' })
      assert.deepEqual(marked.metadata.finalizers, ['orphan'], kind)
      await api.patch({ kind, name: 'w', body: { metadata: { finalizers: null } } })
    }
  }
})

void test('the status of a Job has no negative count and names each finished Pod once; the table shows completions and duration', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'Job'
  await api.create({ kind, body })
  const call = { kind, name: 'w', subresource: 'status' }
  const at = 'status.uncountedTerminatedPods'
  await refusesChange(api, call, [
    [{ status: { active: -1 } }, ['FieldValueInvalid status.active']],
    [
      { status: { uncountedTerminatedPods: { succeeded: ['a'], failed: ['a'] } } },
      [`FieldValueDuplicate ${at}.failed[0]`],
    ],
  ])
  const times = { startTime: '2026-01-01T00:00:00Z', completionTime: '2026-01-01T00:01:30Z' }
  const { object } = await api.patch({ ...call, body: { status: { succeeded: 1, ...times } } })
  const { Completions, Duration } = cells(api, kind, object)
  assert.deepEqual([Completions, Duration], ['1/1', '90s'])
})

void test('a CronJob has a schedule, and Jobs whose selector is generated', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'CronJob'
  const cron = {
    metadata: { name: 'w' },
    spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template } } },
  }
  const at = 'spec.jobTemplate.spec'
  await refusesNew(api, { kind, body: cron }, [
    [
      { metadata: { name: 'a'.repeat(53) } },
      ['FieldValueInvalid metadata.name'],
      'must be no more than 52 characters',
    ],
    [{ spec: { schedule: null } }, ['FieldValueRequired spec.schedule']],
    [
      { spec: { schedule: '* * *' } },
      ['FieldValueInvalid spec.schedule'],
      'expected exactly 5 fields, found 3',
    ],
    [{ spec: { concurrencyPolicy: 'Wait' } }, ['FieldValueNotSupported spec.concurrencyPolicy']],
    [{ spec: { startingDeadlineSeconds: -1 } }, ['FieldValueInvalid spec.startingDeadlineSeconds']],
    [
      { spec: { jobTemplate: { spec: { selector: {} } } } },
      [`FieldValueInvalid ${at}.selector`],
      '`selector` will be auto-generated',
    ],
    [
      { spec: { jobTemplate: { spec: { manualSelector: true } } } },
      [`FieldValueNotSupported ${at}.manualSelector`],
    ],
    [
      { spec: { jobTemplate: { spec: { template: { spec: { restartPolicy: 'Always' } } } } } },
      [`FieldValueRequired ${at}.template.spec.restartPolicy`],
    ],
  ])
  const beta = { ...cron, spec: { ...cron.spec, timeZone: 'UTC' } }
  await api.create({ kind: 'batch/v1beta1/CronJob', body: beta })
  const { object } = await api.get({ kind: 'batch/v1/CronJob', name: 'w' })
  const spec = objectMember(object, 'spec')
  assert.equal(memberOf(spec, 'timeZone'), undefined)
  assert.deepEqual(withoutMembers(spec, 'jobTemplate', 'schedule'), {
    ...{
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    },
  })
  assert.deepEqual(cells(api, 'batch/v1/CronJob', object), {
    ...{ Name: 'w', Schedule: '*/5 * * * *', Suspend: false, Active: 0, 'Last Schedule': '<none>' },
    ...{ Containers: 'c', Images: 'busybox:1', Selector: '<none>' },
  })
})

void test('schedules have five fields within their bounds, or are descriptors', () => {
  for (const schedule of [
    ...['* * * * *', '0 */2 1,15 jan-mar mon-fri', '5/10 ? ? * 0', '@daily', '@every 1h30m'],
    ...['TZ=UTC 0 0 * * *', 'CRON_TZ=Europe/Berlin 0 0 * * *', '  1   2 3 4 5 '],
  ]) {
    assert.equal(scheduleError(schedule), null, schedule)
  }
  for (const [schedule, words] of [
    ['', 'expected exactly 5 fields, found 0: []'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['@never', 'unrecognized descriptor: @never'],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
  ] as const) {
    assert.equal(scheduleError(schedule), words, schedule)
  }
})

void test('a schedule as long as a body is checked in one pass', () => {
  const spaces = ' '.repeat(2_000_000)
  const words = 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'
  for (const [schedule, wrong] of [
    [`TZ=UTC${spaces}x * *\n* *`, words],
    [`TZ=UTC${spaces}* * * * *${spaces}`, null],
    [`TZ=${spaces}x\nx`, 'expected exactly 5 fields, found 2: [x x]'],
    [`CRON_TZ=${'A'.repeat(2_000_000)}`, null],
  ] as const) {
    const given = scheduleError(schedule)
    if (wrong === null) assert.ok(given === null || given.startsWith('expected exactly 5 fields, found 1'))
    else assert.equal(given, wrong)
  }
})

void test('the time zone of a schedule ends at the first space, as upstream reads it', () => {
  assert.equal(scheduleError('TZ=UTC\t0 0 * * *'), 'provided bad location UTC\t0: unknown time zone')
  assert.equal(scheduleError('TZ=UTC'), 'expected exactly 5 fields, found 1: [TZ=UTC]')
  assert.equal(scheduleError('TZ= 0 0 * * *'), null)
})
