import type { UserInfo } from '../api/object.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import type { Target } from './request.ts'

/**
 * Who may change or refuse a write besides authorization. Verbs call it; `src/admission` fills it. Called
 * again for the same request when a write lost a race or memory was too old, so it has no side effects.
 */
export interface Admission {
  /** Returns the object as it shall be; the same one when nothing changes. @throws ApiError */
  mutate(request: AdmissionRequest): AnyObject | null | Promise<AnyObject | null>
  /** Sees the object as it would be stored. @throws ApiError */
  validate(request: AdmissionRequest): void | Promise<void>
}

/** What webhooks of `AdmissionReview` need to be asked. */
export type AdmissionRequest = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly definition: ResourceDefinition
  readonly target: Target
  /** null for DELETE. */
  readonly object: AnyObject | null
  /** null for CREATE and CONNECT. */
  readonly oldObject: AnyObject | null
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly warn: (text: string) => void
}
