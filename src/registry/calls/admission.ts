import type { Condition, Operation } from '../../store/command.ts'
import type { AdmissionContext } from './admission-context.ts'
import type { DeleteOptions } from './delete-options.ts'
import type { AnyObject, BodyKind, ResourceDefinition } from '../kinds/definition.ts'
import type { WriteOptions } from './query-options.ts'
import type { ReadSet } from '../shared/read-set.ts'
import type { Target } from './request.ts'

/**
 * Changes and refuses writes after authorization. The write pipeline calls it; `src/admission`
 * implements it.
 */
export interface Admission {
  /** Returns the object as admission changed it, or the same object. @throws ApiError to refuse */
  mutate(request: AdmissionRequest): AnyObject | null | Promise<AnyObject | null>
  /** Checks the object as it would be stored. @throws ApiError to refuse */
  validate(request: AdmissionRequest): void | Promise<void>
  /**
   * Returns operations that the command of the write carries in addition to its own, each with its
   * conditions, such as the new usage of a quota. All of them take effect or none; a lost condition
   * causes another evaluation of the write.
   */
  extraOperations(request: AdmissionRequest): readonly Operation[]
  /**
   * Returns conditions that the operation on the object itself carries in addition to its own.
   * Unset: none.
   */
  extraConditions?(request: AdmissionRequest): readonly Condition[]
}

/** One evaluation of a write, as admission sees it. */
export type AdmissionRequest = {
  /** The same for all evaluations of a request. */
  readonly context: AdmissionContext
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** The kind of the request path; `storedTypeOf` returns the stored type. */
  readonly definition: ResourceDefinition
  /** Namespace, name and subresource of the request path. */
  readonly target: Target
  readonly options: AdmissionOptions
  /** null for DELETE. */
  readonly object: AnyObject | null
  /** null for CREATE and CONNECT, and for a deletion of an object that cannot be read. */
  readonly oldObject: AnyObject | null
  /** The kind of `object`, if it is the body of a subresource. Unset: `definition`. */
  readonly objectKind?: BodyKind
  /**
   * Completes an object that admission changed: drops unknown fields, adds defaults, and restores
   * the fields that only the server sets. @throws ApiError for a value of the wrong type
   */
  readonly reshape: (mutated: AnyObject) => AnyObject
  /** The only access to memory, so that the pipeline knows what the evaluation depends on. */
  readonly reads: ReadSet
}

export type AdmissionOptions =
  | ({ readonly kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' } & WriteOptions)
  | ({ readonly kind: 'DeleteOptions' } & DeleteOptions)
