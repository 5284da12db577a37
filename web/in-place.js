// Solo where neither workers nor import() are to be had: in a service worker, that of a browser extension, too. The same
// Solo as that of solo.js, which runs right where it is called.
import * as service from "./service.js";
import { provideService } from "./solo.js";

provideService(service);

export { Solo } from "./solo.js";
