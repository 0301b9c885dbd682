import { forbidden } from '../api/errors/standard-errors.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseQuantity } from '../api/schema/quantity.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { keyOf } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'
import { defaultClassName } from './default-class.ts'
import { isClaimWrite, withSpec } from './pods.ts'

/**
 * Gives new claims without a storage class the default one.
 *
 * @source upstream `plugin/pkg/admission/storage/storageclass/setdefault`
 */
export function defaultStorageClass({ names }: { readonly names: Names }): AdmissionPlugin {
  const group = names.group('storage')
  const marks = ['storageclass', 'storageclass.beta'].map((one) => names.labelUnder(one, 'is-default-class'))
  return {
    name: 'DefaultStorageClass',
    mutate: (request) => {
      const { object, operation, reads } = request
      if (object === null || operation !== 'CREATE' || !isClaimWrite(request)) return object
      if (object.metadata.annotations?.[classAnnotation(names)] !== undefined) return object
      if (memberOf(objectMember(object, 'spec'), 'storageClassName') !== undefined) return object
      const found = defaultClassName(reads, { group, plural: 'storageclasses' }, marks)
      if (found.kind === 'none') return object
      if (found.kind === 'one') return withSpec(object, { storageClassName: found.name })
      const why = `Internal error occurred: ${found.count} default StorageClasses were found`
      throw forbidden(resourceOf(request.definition), object.metadata.name ?? '', why)
    },
  }
}

/**
 * Lets only bound claims grow, and only if their class allows it.
 *
 * @source upstream `plugin/pkg/admission/storage/persistentvolume/resize`
 */
export function persistentVolumeClaimResize({ names }: { readonly names: Names }): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    validate: (request) => {
      const { object, oldObject, definition } = request
      if (object === null || oldObject === null || !isClaimWrite(request)) return
      if (storageOf(object) <= storageOf(oldObject)) return
      const refuse = (why: string): never => {
        throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
      }
      if (textMember(objectMember(oldObject, 'status'), 'phase') !== 'Bound')
        refuse('Only bound persistent volume claims can be expanded')
      if (!mayGrow(names, request, object, oldObject))
        refuse(
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        )
    },
  }
}

function mayGrow(names: Names, { reads }: AdmissionRequest, claim: AnyObject, before: AnyObject): boolean {
  const name = classOf(names, claim)
  if (name === '' || name.includes('/') || name !== classOf(names, before)) return false
  const key = keyOf({ group: names.group('storage'), plural: 'storageclasses', namespace: '', name })
  const stored = reads.getOther(key)
  return stored !== null && memberOf(parseStored(stored), 'allowVolumeExpansion') === true
}

function storageOf(claim: AnyObject): bigint {
  const requests = objectMember(objectMember(objectMember(claim, 'spec'), 'resources'), 'requests')
  return parseQuantity(textMember(requests, 'storage'))?.nanos ?? 0n
}

function classOf(names: Names, claim: AnyObject): string {
  const annotation = claim.metadata.annotations?.[classAnnotation(names)]
  return annotation ?? textMember(objectMember(claim, 'spec'), 'storageClassName')
}

function classAnnotation(names: Names): string {
  return names.labelUnder('volume.beta', 'storage-class')
}
