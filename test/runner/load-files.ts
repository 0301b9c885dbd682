/*
 * Started by `run-files.ts`: runs the test files in its arguments one after another in this
 * process, each as a group that has the path of the file as its name.
 */
import { describe } from 'node:test'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) {
  void describe(file, async () => {
    await import(pathToFileURL(file).href)
  })
}
