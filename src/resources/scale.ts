import { badRequest, internal } from '../api/errors/standard-errors.ts'
import { numberMember, objectMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { int32, part, struct, text } from '../api/schema/build.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ViewSubresource } from '../registry/kinds/definition.ts'
import { valueAt, withValueAt } from './crd/member-path.ts'
import type { MemberPath } from './crd/member-path.ts'

export type ScalePaths = {
  readonly specReplicas: MemberPath
  readonly statusReplicas: MemberPath
  /** Returns the selector of the Pods, serialized; '' without a selector. */
  readonly selectorOf: (object: AnyObject) => string
}

/**
 * `/scale`: the replica count of an object, in the form that all scalable kinds share. By default
 * with the columns of custom kinds.
 *
 * @source autoscaling/v1 Scale; apiextensions-apiserver `pkg/registry/customresource/etcd.go`
 */
export function scaleSubresource(paths: ScalePaths, columns = customColumns): ViewSubresource {
  return {
    name: 'scale',
    verbs: ['get', 'patch', 'update'],
    body: { group: 'autoscaling', version: 'v1', kind: 'Scale', schema: scaleSchema, columns },
    view: {
      show: (object) => {
        const path = paths.specReplicas
        if (valueAt(object, path) === undefined) {
          throw internal(`the spec replicas field ".${path.join('.')}" does not exist`)
        }
        return shown(object, paths)
      },
      patched: (object) => shown(object, paths),
      change: (scale, current) => scaled(scale, current, paths),
      applied: (scale, place) =>
        numberMember(objectMember(scale, 'spec'), 'replicas') === null ? place : scaled(scale, place, paths),
    },
  }
}

/** `/scale` of built-in kinds. */
export function builtInScale(selectorOf: ScalePaths['selectorOf']): ViewSubresource {
  const paths = { specReplicas: ['spec', 'replicas'], statusReplicas: ['status', 'replicas'], selectorOf }
  return scaleSubresource(paths, builtInColumns)
}

function countColumn(name: string, description: string, cell: Column['cell']): Column {
  return { name, type: 'integer', description, cell }
}

const available = countColumn('Available', 'Observed number of replicas.', (scale) =>
  cellAt(scale, 'status', 'replicas'),
)

/** @source core `pkg/printers/internalversion`, printScale */
const builtInColumns: readonly Column[] = [
  { name: 'Name', type: 'string', description: nameColumn.description, cell: nameColumn.cell },
  countColumn('Desired', 'Desired number of replicas.', (scale) => cellAt(scale, 'spec', 'replicas') || 0),
  available,
  ageColumn,
]

/**
 * A desired count of 0 is not shown, as a Scale does not contain it.
 *
 * @source apiextensions-apiserver `pkg/apiserver`, getScaleColumnsForVersion
 */
const customColumns: readonly Column[] = [
  nameColumn,
  countColumn('Desired', 'Desired number of replicas.', (scale) => cellAt(scale, 'spec', 'replicas') || null),
  available,
  { ...ageColumn, type: 'date' },
]

const scaleSchema = struct('autoscaling.v1.Scale', 'Number of replicas of an object.', {
  spec: part(
    2,
    struct('autoscaling.v1.ScaleSpec', 'Desired scale.', {
      replicas: int32(1, 'Desired number of replicas.', { minimum: 0 }),
    }),
    'Desired scale.',
  ),
  status: part(
    3,
    struct('autoscaling.v1.ScaleStatus', 'Observed scale.', {
      replicas: int32(1, 'Observed number of replicas.', { required: true, always: true }),
      selector: text(2, 'Label selector of the replicas, serialized as text.'),
    }),
    'Observed scale.',
  ),
})

function shown(object: AnyObject, paths: ScalePaths): AnyObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const wanted = countAt(object, paths.specReplicas) ?? 0
  const selector = paths.selectorOf(object)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      creationTimestamp: creationTimestamp ?? null,
    },
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: {
      replicas: countAt(object, paths.statusReplicas) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  }
}

function scaled(scale: AnyObject, current: AnyObject, { specReplicas }: ScalePaths): AnyObject {
  const replicas = numberMember(objectMember(scale, 'spec'), 'replicas') ?? 0
  const changed: JsonObject | null = withValueAt(current, specReplicas, replicas)
  if (changed === null) throw badRequest(`the object has no place for .${specReplicas.join('.')}`)
  const { apiVersion, kind, metadata } = current
  return { ...changed, apiVersion, kind, metadata }
}

/**
 * @returns a 32-bit integer, as upstream: a larger one loses its high bits; null if unset
 * @throws ApiError `InternalError` if the value is not an integer, as upstream
 */
function countAt(object: AnyObject, path: MemberPath): number | null {
  const value = valueAt(object, path)
  if (value === undefined) return null
  if (typeof value === 'bigint') return Number(BigInt.asIntN(32, value))
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value | 0
  throw internal(`.${path.join('.')} accessor error: the value is not an integer`)
}
