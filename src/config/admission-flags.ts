import { text } from './flag.ts'

/** Flags of admission. */
export const admissionFlags = {
  'admission-control-config-file': text(
    '',
    'FILE',
    'AdmissionConfiguration: the configuration of admission plugins, such as the credentials for webhooks.',
  ),
} as const
