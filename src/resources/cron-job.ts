import type { Findings } from '../api/errors/findings.ts'
import { invalid, notSupported } from '../api/errors/field-error.ts'
import { goSelector } from '../api/errors/go-values.ts'
import type { JsonObject } from '../api/json.ts'
import { isJsonList, memberOf, objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { validateLabels } from '../api/metadata/object-meta.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { selectorText } from './common/selector.ts'
import { withoutDisabled } from './common/disabled-members.ts'
import { statusApart } from './common/status-apart.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { cronJobSchema } from './jobs/cron-job-schema.ts'
import { checkJobSpec } from './jobs/job-rules.ts'
import { scheduleError } from './jobs/schedule.ts'
import { fillPodTemplate, podTemplateWarnings, withEnabledFields } from './pods/pod-template-spec.ts'
import { containerColumns, selectorColumn, specOf } from './workloads/pod-owner.ts'

/** Jobs that are started by a schedule. */
export function cronJobDefinition(names: Names): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = statusApart(cronJobSchema)
  return Object.freeze({
    group: 'batch',
    version: 'v1',
    kind: 'CronJob',
    plural: 'cronjobs',
    singular: 'cronjob',
    shortNames: ['cj'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: cronJobSchema,
    validateName: checkCronJobName,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns,
    hooks: {
      prepareForCreate: (object, writing) => withEnabledSpec(prepareForCreate(object, writing), null),
      prepareForUpdate: (object, current, writing) =>
        withEnabledSpec(prepareForUpdate(object, current, writing), current),
      fillDefaults,
      validate: (object, found) => {
        checkCronJob(object, names, found)
      },
      warnings: (object, current) =>
        object.metadata.generation === current?.metadata.generation
          ? []
          : podTemplateWarnings(podTemplateOf(object), 'spec.jobTemplate.spec.template', names),
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

/** The version for older clients; stored as `v1`, which has the same shape. */
export function cronJobV1beta1Definition(names: Names): ResourceDefinition {
  const stable = cronJobDefinition(names)
  const { group, version, kind } = stable
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    storedAs: { name: version },
    defaultPropagation: { policy: 'Orphan' },
    deprecated: { since: '1.21', removed: '1.25', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

/** The name of a Job is that of its CronJob with eleven more characters. */
const NAME_LENGTH_MAX = 52

function checkCronJobName(name: string): readonly string[] {
  const wrong = checkDns1123Subdomain(name)
  return name.length > NAME_LENGTH_MAX
    ? [...wrong, `must be no more than ${NAME_LENGTH_MAX} characters`]
    : wrong
}

function jobSpecOf(object: AnyObject): JsonObject {
  return objectMember(objectMember(specOf(object), 'jobTemplate'), 'spec')
}

function podTemplateOf(object: AnyObject): JsonObject {
  return objectMember(jobSpecOf(object), 'template')
}

/**
 * Drops members whose features are off, unless the stored object has them.
 *
 * @param before null: the object is new
 */
function withEnabledSpec(object: AnyObject, before: AnyObject | null): AnyObject {
  const template = withEnabledFields(podTemplateOf(object), before === null ? null : podTemplateOf(before))
  const spec = withoutDisabled(specOf(object), before === null ? null : specOf(before), 'timeZone')
  return withPodTemplate({ ...object, spec }, template)
}

function fillDefaults(object: AnyObject): AnyObject {
  const template = podTemplateOf(object)
  return withPodTemplate(object, fillPodTemplate(template))
}

/** @returns the identical object if it has that template */
function withPodTemplate(object: AnyObject, template: JsonObject): AnyObject {
  if (template === podTemplateOf(object)) return object
  const [spec, jobTemplate] = [specOf(object), objectMember(specOf(object), 'jobTemplate')]
  const job = { ...objectMember(jobTemplate, 'spec'), template }
  return { ...object, spec: { ...spec, jobTemplate: { ...jobTemplate, spec: job } } }
}

/** @source upstream `pkg/apis/batch/validation`, ValidateCronJobSpec */
function checkCronJob(object: AnyObject, names: Names, found: Findings): void {
  const schedule = textMember(specOf(object), 'schedule')
  const wrong = schedule === '' ? null : scheduleError(schedule)
  if (wrong !== null) found.add(invalid('spec.schedule', schedule, wrong))
  const at = 'spec.jobTemplate'
  const labels = objectMember(objectMember(objectMember(specOf(object), 'jobTemplate'), 'metadata'), 'labels')
  const texts = Object.fromEntries(Object.keys(labels).map((key) => [key, textMember(labels, key)]))
  validateLabels(texts, `${at}.metadata.labels`, found)
  const job = jobSpecOf(object)
  const selector = memberOf(job, 'selector')
  if (selector !== undefined)
    found.add(invalid(`${at}.spec.selector`, selector, '`selector` will be auto-generated', goSelector))
  if (memberOf(job, 'manualSelector') === true)
    found.add(notSupported(`${at}.spec.manualSelector`, true, ['nil', 'false']))
  checkJobSpec(job, `${at}.spec`, names, found)
}

const columns: readonly Column[] = [
  nameColumn,
  textColumn('Schedule', 'When Jobs are started.', (object) => textMember(specOf(object), 'schedule')),
  {
    ...{ name: 'Suspend', type: 'boolean', description: 'Whether no further Jobs are started.' },
    cell: (object) => memberOf(specOf(object), 'suspend') === true,
  },
  {
    ...{ name: 'Active', type: 'integer', description: 'Number of Jobs that run.' },
    cell: (object) => {
      const active = memberOf(objectMember(object, 'status'), 'active')
      return isJsonList(active) ? active.length : 0
    },
  },
  {
    ...{ name: 'Last Schedule', type: 'string', description: 'Time since the last start of a Job.' },
    cell: (object) => {
      const time = memberOf(objectMember(object, 'status'), 'lastScheduleTime')
      return typeof time === 'string' ? { since: time } : '<none>'
    },
  },
  ageColumn,
  ...containerColumns(podTemplateOf),
  selectorColumn((object) => selectorText(memberOf(jobSpecOf(object), 'selector'))),
]
