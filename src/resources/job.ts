import type { Findings } from '../api/errors/findings.ts'
import type { JsonObject } from '../api/json.ts'
import { memberOf, numberMember, objectMember, textMember } from '../api/json.ts'
import { ageText } from '../api/metadata/age.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Cell, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { checkJobSpec } from './jobs/job-rules.ts'
import { jobSchema } from './jobs/job-schema.ts'
import { checkJobSelector, withSelector } from './jobs/job-selector.ts'
import { checkJobUpdate } from './jobs/job-update.ts'
import {
  containerColumns,
  fillTemplate,
  selectorColumn,
  selectorOf,
  specOf,
  templateHooks,
  templateOf,
  warningsOfTemplate,
} from './workloads/pod-owner.ts'

/** Pods that run until a number of them has succeeded. */
export function jobDefinition(names: Names): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = templateHooks(jobSchema)
  return Object.freeze({
    group: 'batch',
    version: 'v1',
    kind: 'Job',
    plural: 'jobs',
    singular: 'job',
    shortNames: [],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: jobSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    defaultPropagation: { policy: 'Orphan', warning: ORPHANS_PODS },
    tracksGeneration: true,
    selectableFields: [
      {
        name: 'status.successful',
        textOf: (object) => String(numberMember(objectMember(object, 'status'), 'succeeded') ?? 0),
      },
    ],
    columns,
    hooks: {
      prepareForCreate: (object, writing) =>
        withoutTracking(withTemplateLabels(withSelector(prepareForCreate(object, writing))), null, names),
      prepareForUpdate: (object, current, writing) =>
        withoutTracking(prepareForUpdate(object, current, writing), current, names),
      fillDefaults: (object) => fillJob(fillTemplate(object)),
      validate: (object, found) => {
        checkJob(object, names, found)
      },
      validateUpdate: checkJobUpdate,
      warnings: warningsOfTemplate(names),
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

/**
 * Drops the annotation of Jobs whose finished Pods are counted by their finalizers, a feature that
 * is off, unless the stored Job has it.
 *
 * @param current null: the Job is new
 * @source upstream `pkg/registry/batch/job`, jobStrategy
 */
function withoutTracking(object: AnyObject, current: AnyObject | null, names: Names): AnyObject {
  const key = names.labelUnder('batch', 'job-tracking')
  const { annotations, ...metadata } = object.metadata
  if (annotations === undefined || !Object.hasOwn(annotations, key)) return object
  if (Object.hasOwn(current?.metadata.annotations ?? {}, key)) return object
  const left = Object.entries(annotations).filter(([name]) => name !== key)
  const kept = left.length === 0 ? metadata : { ...metadata, annotations: Object.fromEntries(left) }
  return { ...object, metadata: kept }
}

/** @source upstream `pkg/registry/batch/job/storage` */
const ORPHANS_PODS =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to ' +
  'remove them or set propagationPolicy=Orphan to suppress this warning'

function checkJob(object: AnyObject, names: Names, found: Findings): void {
  checkJobSpec(specOf(object), 'spec', names, found)
  checkJobSelector(object, found)
}

/** @source upstream `pkg/apis/batch/v1`, SetDefaults_Job */
function fillJob(object: AnyObject): AnyObject {
  const spec = specOf(object)
  const isSingle = !Object.hasOwn(spec, 'completions') && !Object.hasOwn(spec, 'parallelism')
  const filled: JsonObject = {
    parallelism: 1,
    ...(isSingle ? { completions: 1 } : {}),
    ...{ backoffLimit: 6, completionMode: 'NonIndexed', suspend: false },
    ...spec,
  }
  return withTemplateLabels({ ...object, spec: filled })
}

/**
 * A Job without labels gets those of its Pods. A new one gets the generated labels too: upstream
 * sets them when it decodes the stored object, so no client sees the Job without them.
 */
function withTemplateLabels(object: AnyObject): AnyObject {
  if (Object.keys(object.metadata.labels ?? {}).length > 0) return object
  const labels = objectMember(objectMember(templateOf(object), 'metadata'), 'labels')
  const texts = Object.fromEntries(Object.keys(labels).map((key) => [key, textMember(labels, key)]))
  if (Object.keys(texts).length === 0) return object
  return { ...object, metadata: { ...object.metadata, labels: texts } }
}

const columns: readonly Column[] = [
  nameColumn,
  textColumn('Completions', 'Number of Pods that succeeded, of those wanted.', completionsText),
  {
    ...{ name: 'Duration', type: 'string', description: 'Run time, so far or in total.' },
    cell: durationCell,
  },
  ageColumn,
  ...containerColumns(templateOf),
  selectorColumn(selectorOf),
]

function completionsText(object: AnyObject): string {
  const spec = specOf(object)
  const done = numberMember(objectMember(object, 'status'), 'succeeded') ?? 0
  const wanted = numberMember(spec, 'completions')
  if (wanted !== null) return `${done}/${wanted}`
  const parallelism = numberMember(spec, 'parallelism') ?? 0
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`
}

function durationCell(object: AnyObject): Cell {
  const status = objectMember(object, 'status')
  const [start, end] = [memberOf(status, 'startTime'), memberOf(status, 'completionTime')]
  if (typeof start !== 'string') return ''
  return typeof end === 'string' ? ageText(Date.parse(end) - Date.parse(start)) : { since: start }
}
