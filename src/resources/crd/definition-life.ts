import { memberOf, objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { keeping } from '../common/status-subresource.ts'
import { withCondition } from './definition-conditions.ts'

/**
 * Fills in the names that follow from the kind, and the conversion.
 *
 * @source apiextensions/v1 `defaults.go`
 */
export function fillDefaults(definition: AnyObject): AnyObject {
  const spec = objectMember(definition, 'spec')
  const given = objectMember(spec, 'names')
  const kind = textMember(given, 'kind')
  const names = {
    ...(kind === '' || textMember(given, 'singular') !== '' ? {} : { singular: kind.toLowerCase() }),
    ...(kind === '' || textMember(given, 'listKind') !== '' ? {} : { listKind: `${kind}List` }),
  }
  const isConverted = memberOf(spec, 'conversion') !== undefined
  if (isConverted && Object.keys(names).length === 0) return definition
  const conversion = isConverted ? {} : { conversion: { strategy: 'None' } }
  return { ...definition, spec: { ...spec, names: { ...given, ...names }, ...conversion } }
}

export function prepareForCreate(definition: AnyObject): AnyObject {
  const status = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null }
  return withStorageVersion({ ...definition, status })
}

export function prepareForUpdate(definition: AnyObject, current: AnyObject): AnyObject {
  return withStorageVersion(keeping(definition, current, 'status'))
}

/**
 * Adds the finalizer that keeps a definition until its objects are deleted. It is added by the
 * write that marks the deletion, so that no definition is removed before its objects.
 *
 * @source apiextensions-apiserver `pkg/registry/customresourcedefinition/etcd.go`
 */
export function prepareForDelete(definition: AnyObject, names: Names): AnyObject {
  const { finalizers = [], deletionTimestamp = '' } = definition.metadata
  const finalizer = names.definitionFinalizer
  const held = finalizers.includes(finalizer)
    ? definition
    : { ...definition, metadata: { ...definition.metadata, finalizers: [...finalizers, finalizer] } }
  return withCondition(
    held,
    {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
    deletionTimestamp,
  )
}

/**
 * Adds the storage version to `storedVersions`: objects may exist in every version that was a
 * storage version, until a client that has migrated them removes it from the list.
 */
function withStorageVersion(definition: AnyObject): AnyObject {
  const status = objectMember(definition, 'status')
  const stored = textsMember(status, 'storedVersions')
  const versions = objectsMember(objectMember(definition, 'spec'), 'versions')
  const storage = versions.find((version) => memberOf(version, 'storage') === true)
  const name = storage === undefined ? '' : textMember(storage, 'name')
  if (name === '' || stored.includes(name)) return definition
  return { ...definition, status: { ...status, storedVersions: [...stored, name] } }
}
